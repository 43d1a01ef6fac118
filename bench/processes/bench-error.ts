/** An expected failure of the benchmark or of one of its targets. Its message is printed without a stack trace. */
export class BenchError extends Error {
  override name = 'BenchError';
}

/** The message of any thrown value, on one line. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().replaceAll(/\s*\n\s*/g, ' · ');
