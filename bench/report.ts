/** Shows what was measured on the terminal, and writes it to `results/`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { comparisonChart, growthChart, soakChart } from './charts.ts';
import type { Comparison } from './comparison.ts';
import { comparisonSections } from './comparison-report.ts';
import { GROWTH_ROUNDS, type GrowthStep } from './growth.ts';
import { growthSections, soakSections } from './growth-report.ts';
import { type Machine, machineSlug } from './machine.ts';
import type { Options, Part } from './options.ts';
import { say } from './progress.ts';
import type { Reads } from './reads.ts';
import { readsSections } from './reads-report.ts';
import type { Soak } from './soak.ts';
import { type TextTable, toMarkdown, toPlainText } from './text-table.ts';

/** What a reader needs to know to judge figures, or to measure them again. */
export type Context = {
  /** ISO 8601. */
  date: string;
  machine: Machine;
  versions: Record<string, string>;
  postgres: Record<string, string>;
  /** Processes of the store. */
  workers: string;
  options: Options;
};

export type Section = { title: string; table?: TextTable; lines?: string[] };

type Report = {
  part: Part;
  title: string;
  /** How it was measured, in words. */
  setting: string;
  sections: Section[];
  svg: string | undefined;
  data: object;
  context: Context;
};

export const reportComparison = (comparison: Comparison, context: Context): Promise<void> =>
  publish({
    part: 'comparison',
    title: 'Plant Store and its peers',
    setting: inRounds(context.options.rounds, context.options),
    sections: comparisonSections(comparison, context.options),
    svg: comparisonChart(comparison, context),
    data: comparison,
    context,
  });

export const reportReads = (reads: Reads, context: Context): Promise<void> =>
  publish({
    part: 'reads',
    title: 'Reads of Plant Store and its peers',
    setting: inRounds(context.options.readRounds, context.options),
    sections: readsSections(reads),
    svg: undefined,
    data: reads,
    context,
  });

export const reportGrowth = (steps: GrowthStep[], context: Context): Promise<void> =>
  publish({
    part: 'growth',
    title: 'Plant Store while its table grows',
    setting: `Each step was measured for ${context.options.seconds} s just after a checkpoint, and then in ${GROWTH_ROUNDS} rounds`,
    sections: growthSections(steps),
    svg: growthChart(steps, context),
    data: { steps },
    context,
  });

export const reportSoak = (soak: Soak, context: Context): Promise<void> =>
  publish({
    part: 'soak',
    title: 'Memory of Plant Store at full load',
    setting: `Memory was read each second for ${context.options.soakMinutes} min`,
    sections: soakSections(soak),
    svg: soakChart(soak, context),
    data: soak,
    context,
  });

const inRounds = (rounds: number, { seconds, quietPeers }: Options): string =>
  `Measured for ${seconds} s each; figures are medians of ${rounds} rounds; log of the peers: ${quietPeers ? 'off' : 'on'}`;

const publish = async ({ part, title, setting, sections, svg, data, context }: Report): Promise<void> => {
  for (const section of sections) process.stdout.write(`\n${plain(section)}\n`);
  const folder = join(import.meta.dirname, 'results');
  await mkdir(folder, { recursive: true });
  const date = context.date.slice(0, 'yyyy-mm-dd'.length);
  const partial = context.options.partial[part];
  const suffix = part === 'comparison' ? '' : `-${part}`;
  const name = `${date}-${machineSlug(context.machine)}${suffix}${partial ? '-partial' : ''}`;
  const markdown = [`# ${title}`, contextLines(setting, context).join('\n'), ...sections.map(asMarkdown)].join('\n\n');
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify({ ...context, ...data }, null, 2)}\n`);
  await writeFile(join(folder, `${name}.md`), `${markdown}\n`);
  if (svg) await writeFile(join(folder, `${name}.svg`), svg);
  // A steady name for the README, whatever the date and the machine.
  if (svg && !partial) await writeFile(join(folder, `latest${suffix}.svg`), svg);
  say(`Written to ${join('bench', 'results', name)}.{json,md${svg ? ',svg' : ''}}`);
};

const plain = ({ title, table, lines = [] }: Section): string =>
  [title, ...(table ? [toPlainText(table)] : []), ...lines].join('\n');

const asMarkdown = ({ title, table, lines = [] }: Section): string =>
  [`## ${title}`, ...(table ? [toMarkdown(table)] : []), ...(lines.length > 0 ? [bullets(lines)] : [])].join('\n\n');

const bullets = (lines: string[]) => lines.map((line) => `- ${line}`).join('\n');

const contextLines = (setting: string, { date, machine, versions, postgres, workers }: Context): string[] =>
  [
    `${date}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}`,
    `${setting}; worker processes of the store: ${workers}`,
    `PostgreSQL: ${pairs(postgres)}`,
    `Versions: ${pairs(versions)}`,
  ].map((line) => `- ${line}`);

const pairs = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
