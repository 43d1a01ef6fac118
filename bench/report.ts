/** Prints groups of figures, and writes them to `results/`. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { say, versionOf } from './command.ts';

const RESULTS = join(import.meta.dirname, 'results');
const GIBIBYTE = 1024 ** 3;
const UNKNOWN = '–';
/** This figure is added up over the rounds, so that no failed request is lost in a median. */
export const NOT_200 = 'not 200';

/** By their name with its unit. The first is the one that is judged. */
export type Figures = Record<string, number>;

/** Of one measurement of a task. */
export type Sample = { task: string; round: number; figures: Figures };

export type Group = { title: string; samples: Sample[]; failures: string[] };

/** Rows of text. The first is the heading. */
type Table = string[][];

/** At least three significant digits. */
export const decimal = (value: number = Number.NaN): string => {
  if (!Number.isFinite(value)) return UNKNOWN;
  if (Number.isInteger(value) || value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 10 ? 1 : 2);
};

/** For an even number of values, the mean of the middle two. */
const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
};

const valuesOf = (samples: Sample[], name: string) => samples.map(({ figures }) => figures[name] ?? Number.NaN);

const withRange = (all: number[]): string => {
  const values = all.filter(Number.isFinite);
  const range = values.length > 1 ? ` (${decimal(Math.min(...values))} to ${decimal(Math.max(...values))})` : '';
  return `${decimal(median(values))}${range}`;
};

/** A line for each task: the medians, and the range of the first figure. */
const figuresTable = (byTask: Map<string, Sample[]>, names: string[]): Table => [
  ['', ...names],
  ...[...byTask].map(([task, samples]) => [
    task,
    ...names.map((name, index) => {
      const values = valuesOf(samples, name);
      if (name === NOT_200) return decimal(values.reduce((sum, value) => sum + value, 0));
      return index === 0 ? withRange(values) : decimal(median(values));
    }),
  ]),
];

/** The first task's figures as multiples of each other's in the same round: median and range. */
const ratiosTable = (byTask: Map<string, Sample[]>, names: string[]): Table => {
  const [first, ...others] = byTask;
  if (first === undefined) return [];
  const compared = names.filter((name) => name !== NOT_200);
  const lines = others.map(([task, samples]) => [
    `${first[0]} ÷ ${task}`,
    ...compared.map((name) => {
      const ratios = samples.flatMap(({ round, figures }) => {
        const own = first[1].find((sample) => sample.round === round);
        return own ? [(own.figures[name] ?? Number.NaN) / (figures[name] ?? Number.NaN)] : [];
      });
      return withRange(ratios);
    }),
  ]);
  return lines.length > 0 ? [['', ...compared], ...lines] : [];
};

const toMarkdown = ({ title, samples, failures }: Group): string => {
  const byTask = Map.groupBy(samples, ({ task }) => task);
  const names = Object.keys(samples[0]?.figures ?? {});
  const tables = [figuresTable(byTask, names), ratiosTable(byTask, names)].filter(({ length }) => length > 1);
  const failed = failures.map((failure) => `- **Failed:** ${failure}`);
  return [`## ${title}`, ...tables.map(alignTable), failed.join('\n')].filter(Boolean).join('\n\n');
};

/** The first column is aligned left, the others right. */
const alignTable = ([heading = [], ...lines]: Table): string => {
  const widths = heading.map((_, column) => Math.max(...[heading, ...lines].map((line) => line[column]?.length ?? 0)));
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return [heading, rule, ...lines].map((line) => `| ${line.map(pad).join(' | ')} |`).join('\n');
};

/** What a reader needs to judge the figures, or to measure them again. */
const describeRun = async (command: string, commits: string[], postgres: string): Promise<string> => {
  const { dependencies } = JSON.parse(await readFile(join(import.meta.dirname, 'package.json'), 'utf8'));
  const packages = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
  const tools = await Promise.all(['wrk', 'pgbench', 'psql'].map(versionOf));
  const wrk = tools[0]?.replace(/ Copyright.*/, '');
  return [
    '# Results of the benchmark',
    '',
    `- \`${command}\`, ${new Date().toISOString()}, Plant Store ${commits.join(' and ')}, ` +
      `WORKERS=${process.env.WORKERS ?? 1}`,
    `- ${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / GIBIBYTE)} GiB, ` +
      `${process.platform} ${release()} ${process.arch}`,
    `- PostgreSQL: ${postgres}`,
    `- Node.js ${process.versions.node}, ${[wrk, ...tools.slice(1)].join(', ')}, ${packages.join(', ')}`,
    '- Medians of the rounds. In parentheses: the lowest and highest. Ratios are of measurements in the same round',
  ].join('\n');
};

type Run = { command: string; commits: string[]; postgres: string; name: string };

/** Returns what adds the groups of a measurement. It writes all groups again, so that an interrupted run leaves its results. */
export const openReport = async ({ command, commits, postgres, name }: Run) => {
  const sections = [await describeRun(command, commits, postgres)];
  const allGroups: Group[] = [];
  await mkdir(RESULTS, { recursive: true });
  const write = (extension: string, text: string) => writeFile(join(RESULTS, `${name}.${extension}`), `${text}\n`);
  return async (groups: Group[]): Promise<void> => {
    allGroups.push(...groups);
    const added = groups.map(toMarkdown);
    sections.push(...added);
    process.stdout.write(`\n${added.join('\n\n')}\n`);
    await write('md', sections.join('\n\n'));
    await write('json', JSON.stringify(allGroups, null, 2));
    say(`Written to ${join('bench', 'results', name)}.{md,json}`);
  };
};
