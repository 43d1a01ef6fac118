import { SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';

/**
 * Makes each statement of a sampled request a span. It records the text of the statement, never its parameters.
 * @returns a function that wraps a driver adapter
 */
export const createStatementTracing =
  ({ tracer }: { tracer: Tracer }) =>
  (factory: SqlDriverAdapterFactory): SqlDriverAdapterFactory => {
    const within = async <Result>(sql: string, send: () => Promise<Result>): Promise<Result> => {
      if (trace.getActiveSpan()?.spanContext().traceFlags !== TraceFlags.SAMPLED) return send();
      const summary = summarize(sql);
      const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary, 'db.query.text': sql };
      const span = tracer.startSpan(summary, { kind: SpanKind.CLIENT, attributes });
      try {
        return await send();
      } catch (error) {
        span.setAttribute('error.type', (error as Error).name).setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    };
    return {
      provider: factory.provider,
      adapterName: factory.adapterName,
      connect: async () => {
        const adapter = await factory.connect();
        const { queryRaw, executeRaw } = adapter;
        adapter.queryRaw = (query) => within(query.sql, () => queryRaw.call(adapter, query));
        adapter.executeRaw = (query) => within(query.sql, () => executeRaw.call(adapter, query));
        return adapter;
      },
    };
  };

/** The operation and table of a statement, such as `INSERT plants`: the first that is changed, or else read. */
const summarize = (sql: string): string => {
  const find = (words: string) =>
    new RegExp(`\\b(?<!FOR )(${words})\\s+(?:"?\\w+"?\\.)?"?(\\w+)\\b(?!\\()`, 'i').exec(sql);
  const [, words = '', table] = find('INSERT INTO|UPDATE|DELETE FROM') ?? find('FROM') ?? [];
  if (table === undefined) return 'postgresql';
  const [verb = ''] = words.toUpperCase().split(' ');
  return `${verb === 'FROM' ? 'SELECT' : verb} ${table}`;
};
