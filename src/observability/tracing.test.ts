import { expect, test } from '@jest/globals';
import { context, ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { createQueueTracing, watchExporter } from './tracing.ts';

test('the span of a request that is dropped in a queue ends as an error', () => {
  const calls: unknown[] = [];
  const span = {
    setAttribute: (...attribute: unknown[]) => {
      calls.push(attribute);
      return span;
    },
    setStatus: (status: unknown) => {
      calls.push(status);
      return span;
    },
    end: () => calls.push('end'),
  };
  createQueueTracing({ tracer: {} as Tracer })('writes').drop?.(span as unknown as Span);
  expect(calls).toEqual([['error.type', 'dropped'], { code: SpanStatusCode.ERROR }, 'end']);
});

test('that spans cannot be sent is a line, without what the collector says, and that they are sent again another one', () => {
  const lines: unknown[][] = [];
  const logger = { warn: (...line: unknown[]) => lines.push(line), info: (...line: unknown[]) => lines.push(line) };
  let error: Error | undefined;
  const exporter = watchExporter(
    { export: (_spans, done) => done({ code: error ? 1 : 0, ...(error && { error }) }), shutdown: async () => {} },
    logger as unknown as Logger,
  );
  const send = () => exporter.export([], () => {});
  send();
  error = Object.assign(new Error('Bad Request'), { code: 400, data: 'key' });
  for (let times = 0; times < 3; times++) send();
  error = undefined;
  send();
  expect(lines.map(([, message]) => message)).toEqual(['failed to send traces', 'traces are sent again']);
  expect(lines[0]?.[0]).toEqual({ err: expect.objectContaining({ code: 400 }) });
  expect(lines[0]?.[0]).not.toHaveProperty('err.data');
});

test('the spans of a statement that is not shared belong to its request, whoever sends it', async () => {
  const observer = createQueueTracing({ tracer: {} as Tracer })('searches');
  const [first, second] = ['1'.repeat(16), '2'.repeat(16)].map((spanId) =>
    trace.wrapSpanContext({ traceId: 'a'.repeat(32), spanId, traceFlags: 1 }),
  ) as [Span, Span];
  const within = <Result>(span: Span, run: () => Result) => context.with(trace.setSpan(ROOT_CONTEXT, span), run);
  const notes = [first, undefined].map((span) => (span ? within(span, () => observer.enter?.()) : observer.enter?.()));
  const active = (note: Span | undefined) =>
    within(second, () => observer.around?.([note], async () => trace.getActiveSpan()?.spanContext().spanId));
  expect(await Promise.all(notes.map(active))).toEqual([first.spanContext().spanId, undefined]);
});

test('a batch has its size, also if not all of its requests are sampled, and only those have spans', async () => {
  const started: unknown[] = [];
  const spanOf = (traceFlags: number) =>
    trace.wrapSpanContext({ traceId: 'a'.repeat(32), spanId: '1'.repeat(16), traceFlags });
  const startSpan = (name: string, { attributes }: { attributes: object }) => {
    started.push([name, attributes]);
    return spanOf(1);
  };
  const observer = createQueueTracing({ tracer: { startSpan } as unknown as Tracer })('writes');
  expect(context.with(trace.setSpan(ROOT_CONTEXT, spanOf(0)), () => observer.enter?.())).toBeUndefined();
  await observer.around?.([undefined, spanOf(1)], async () => {});
  expect(started).toEqual([['batch', { 'plant_store.queue': 'writes', 'plant_store.batch.items': 2 }]]);
});
