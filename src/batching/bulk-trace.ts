/** Runs an import or export as one span of a trace. `note` records numbers of rows by name, and how it ended. */
export type BulkTrace = <Result>(
  name: 'import' | 'export',
  run: (note: (values: Record<string, number | string>) => void) => Promise<Result>,
) => Promise<Result>;

/** Without a tracer. */
export const untraced: BulkTrace = (_name, run) => run(() => {});
