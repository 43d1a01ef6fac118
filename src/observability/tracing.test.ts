import { expect, test } from '@jest/globals';
import { type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { createQueueTracing } from './tracing.ts';

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
  createQueueTracing({ tracer: {} as Tracer })('writes')?.drop?.(span as unknown as Span);
  expect(calls).toEqual([['error.type', 'dropped'], { code: SpanStatusCode.ERROR }, 'end']);
});
