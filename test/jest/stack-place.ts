import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '/');
/** Where src/ or a test calls a function, in a stack. */
const OURS = /^(?:src\/(?!generated\/)|test\/)[\w./-]+:\d+/;

/** @returns the first place of this project, such as `src/database/database.ts:90`; undefined if the stack has none */
export const placeIn = (stack: string): string | undefined =>
  stack
    .split(ROOT)
    .slice(1)
    .map((line) => OURS.exec(line)?.[0])
    .find((place) => place);

/** The stack above a function, at most so many callers. */
export const callersOf = (callee: (...words: never[]) => unknown, depth: number): string => {
  const { stackTraceLimit, prepareStackTrace } = Error;
  // Jest's looks for source maps, which the tests do not have, and takes eight times as long.
  Object.assign(Error, { stackTraceLimit: depth, prepareStackTrace: undefined });
  const trace = { stack: '' };
  Error.captureStackTrace(trace, callee);
  const { stack } = trace;
  Object.assign(Error, { stackTraceLimit, prepareStackTrace });
  return stack;
};
