import type { Fault, Findings } from './fault.ts';

/** Measurements, why the fault did not run, or why it failed. */
export type Result = { fault: Fault; seconds: number } & (
  | { findings: Findings }
  | { obstacle: string }
  | { failure: string }
);

const HEADINGS = [
  ['fault, under load', ''],
  ['took', 's'],
  ['sent', ''],
  ['200', ''],
  ['400', 'taken'],
  ['503', ''],
  ['other', ''],
  ['no', 'answer'],
  ['stored', ''],
  ['lost', ''],
  ['doubled', ''],
  ['longest', 'wait ms'],
  ['recovery', 'ms'],
  ['', ''],
] as const;

export const isBroken = (result: Result): boolean =>
  'failure' in result || ('findings' in result && result.findings.broken.length > 0);

/** The table and, below it, the broken promises. */
export const formatReport = (results: Result[]): string => {
  const rows = [HEADINGS.map(([first]) => first), HEADINGS.map(([, second]) => second), ...results.map(rowOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row.map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0))),
  );
  lines.splice(
    2,
    0,
    widths.map((width) => '─'.repeat(width)),
  );
  const table = lines.map((line) => line.join('  ').trimEnd()).join('\n');
  return [table, '', ...results.flatMap(remarksOf)].join('\n');
};

const count = (value: number) => value.toLocaleString('en');

const rowOf = (result: Result): string[] => {
  const start = [result.fault.title, result.seconds.toFixed(0)];
  if (!('findings' in result)) {
    const empty = Array<string>(HEADINGS.length - start.length - 1).fill('');
    return [...start, ...empty, 'failure' in result ? 'FAILED' : 'not run'];
  }
  const { sent, answers, stored, lost, doubled, longestWait, recovery, broken } = result.findings;
  const { ok, taken, unavailable, other, none } = answers;
  const figures = [sent, ok, taken, unavailable, other, none, stored, lost, doubled, Math.round(longestWait)];
  const recovered = recovery === undefined ? '' : count(Math.round(recovery));
  return [...start, ...figures.map(count), recovered, broken.length > 0 ? 'BROKEN' : 'held'];
};

const remarksOf = (result: Result): string[] => {
  if ('obstacle' in result) return [`${result.fault.name} did not run: ${result.obstacle}`];
  if ('failure' in result) return [`${result.fault.name} FAILED: ${result.failure}`];
  return result.findings.broken.map((promise) => `${result.fault.name} BROKEN: ${promise}`);
};
