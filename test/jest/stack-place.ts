import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '/');
/** Where src/ or a test calls a function, in a stack. */
const OURS = /^(?:src\/(?!generated\/)|test\/)[\w./-]+:\d+/;

/**
 * Where this project calls a function.
 * @param depth how many callers to look at
 * @returns a file and a line, such as `src/database/database.ts:90`; undefined if others call it
 */
export const placeOfCall = (callee: (...words: never[]) => unknown, depth: number): string | undefined => {
  const lines = callersOf(callee, depth).split(ROOT).slice(1);
  for (const line of lines) {
    const [place] = OURS.exec(line) ?? [];
    if (place) return place;
  }
  return undefined;
};

/** The lines of the stack above a function. */
export const callersOf = (callee: (...words: never[]) => unknown, depth: number): string => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = depth;
  const trace = { stack: '' };
  Error.captureStackTrace(trace, callee);
  Error.stackTraceLimit = stackTraceLimit;
  return trace.stack;
};
