import { context, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import type { BulkTrace } from '../batching/bulk-trace.ts';

/**
 * Makes an import or export one span, a child of the request's. Its statements get no spans: there is one for every hundred
 * to thousands of rows, however many rows there are.
 */
export const createBulkTracing =
  ({ tracer }: { tracer: Tracer }): BulkTrace =>
  async (name, run) => {
    const span = tracer.startSpan(name);
    const note = (values: Record<string, number | string>) => {
      for (const [key, value] of Object.entries(values))
        span.setAttribute(`plant_store.${name}.${toSnake(key)}`, value);
    };
    try {
      return await context.with(trace.deleteSpan(context.active()), () => run(note));
    } catch (error) {
      span.setAttribute('error.type', (error as Error).name).setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  };

/** https://opentelemetry.io/docs/specs/semconv/general/naming/ */
const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
