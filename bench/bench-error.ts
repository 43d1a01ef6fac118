/** What stops the benchmark or one of its targets, in words for the reader: shown without a stack. */
export class BenchError extends Error {
  override name = 'BenchError';
}

/** The text of whatever was thrown, on one line. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().replaceAll(/\s*\n\s*/g, ' · ');
