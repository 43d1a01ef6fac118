/** Prints a report and writes it to `results/`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from './machine.ts';
import { say } from './progress.ts';
import { type TextTable, toMarkdown, toPlainText } from './text-table.ts';

const RESULTS = join(import.meta.dirname, '..', 'results');

/** What a reader needs to judge the figures, or to measure them again. */
export type Context = {
  /** ISO 8601. */
  date: string;
  machine: Machine;
  versions: Record<string, string>;
  postgres: Record<string, string>;
  /** Processes of the store. */
  workers: string;
  options: object;
};

export type Section = { title: string; table?: TextTable; lines?: string[] };

export type Report = {
  /** Of the file names, for example `-reads`. Empty for the comparison. */
  suffix: string;
  title: string;
  /** How it was measured, in words. */
  method: string;
  sections: Section[];
  chart?: string | undefined;
  data: object;
};

/** A partial run leaves the results of the last full run alone. */
export const publish = async (report: Report, context: Context, partial: boolean): Promise<void> => {
  const { suffix, title, method, sections, chart, data } = report;
  for (const section of sections) process.stdout.write(`\n${toText(section)}\n`);
  await mkdir(RESULTS, { recursive: true });
  const name = `${partial ? 'partial' : 'latest'}${suffix}`;
  const write = (extension: string, text: string) => writeFile(join(RESULTS, `${name}.${extension}`), text);
  const head = [`# ${title}`, bullets(contextLines(method, context))];
  await write('json', `${JSON.stringify({ ...context, ...data }, null, 2)}\n`);
  await write('md', `${[...head, ...sections.map(toMarkdownSection)].join('\n\n')}\n`);
  if (chart) await write('svg', chart);
  say(`Written to ${join('bench', 'results', name)}.{json,md${chart ? ',svg' : ''}}`);
};

/** For the bottom line of a chart. */
export const chartFooter = ({ machine, date, versions }: Context): string =>
  `${machine.cpu}, ${machine.cores} cores · Node ${versions.node} · ${date.slice(0, 10)}`;

const toText = ({ title, table, lines = [] }: Section): string =>
  [title, ...(table ? [toPlainText(table)] : []), ...lines].join('\n');

const toMarkdownSection = ({ title, table, lines = [] }: Section): string =>
  [`## ${title}`, ...(table ? [toMarkdown(table)] : []), ...(lines.length > 0 ? [bullets(lines)] : [])].join('\n\n');

const bullets = (lines: string[]) => lines.map((line) => `- ${line}`).join('\n');

const contextLines = (method: string, { date, machine, versions, postgres, workers }: Context): string[] => [
  `${date}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}`,
  `${method}; worker processes of the store: ${workers}`,
  `PostgreSQL: ${pairs(postgres)}`,
  `Versions: ${pairs(versions)}`,
];

const pairs = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
