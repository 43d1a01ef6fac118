import type { SqlDriverAdapterFactory, SqlQueryable } from '@prisma/driver-adapter-utils';
import type { Tracer } from './tracer.ts';

/** Makes each statement that a driver adapter sends a span. Its values are not told, only the text with their places. */
export const traceStatements = (factory: SqlDriverAdapterFactory, tracer: Tracer): SqlDriverAdapterFactory => {
  const trace = <Queryable extends SqlQueryable>(queryable: Queryable): Queryable => {
    const { queryRaw, executeRaw } = queryable;
    queryable.queryRaw = (query) => within(query.sql, () => queryRaw.call(queryable, query));
    queryable.executeRaw = (query) => within(query.sql, () => executeRaw.call(queryable, query));
    return queryable;
  };
  const within = async <Result>(sql: string, send: () => Promise<Result>): Promise<Result> => {
    const summary = summarize(sql);
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary, 'db.query.text': sql };
    const span = tracer.begin(summary, attributes, { ofDatabase: true });
    try {
      const result = await send();
      span?.end();
      return result;
    } catch (error) {
      span?.end((error as Error).name);
      throw error;
    }
  };
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => {
      const adapter = trace(await factory.connect());
      const { startTransaction } = adapter;
      adapter.startTransaction = async (level) => trace(await startTransaction.call(adapter, level));
      return adapter;
    },
  };
};

/** What a statement does to which table, such as `INSERT plants`. */
const summarize = (sql: string): string => {
  const [, words = '', table] =
    /\b(INSERT INTO|UPDATE|DELETE FROM|FROM)\s+(?:"?\w+"?\.)?"?(\w+)\b(?!\()/i.exec(sql) ?? [];
  if (table === undefined) return 'postgresql';
  const [verb = ''] = words.toUpperCase().split(' ');
  return `${verb === 'FROM' ? 'SELECT' : verb} ${table}`;
};
