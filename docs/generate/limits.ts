import { defaultOf, readConfig, variableNames } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { findLimits } from '../../test/support/limits/find-limits.ts';
import { withoutEdges } from '../../test/support/limits/other-limits.ts';
import { valueOfSetting } from './configuration.ts';
import { type LimitRow, queues, sections, type Unit, withoutRow } from './limit-rows.ts';
import { code, formatNumber, renderPage, table } from './markdown.ts';

const found = findLimits();
const rows = Object.values(sections).flat();

/** @throws {Error} names what is missing in limit-rows.ts, or is there for a limit that is gone */
const assertComplete = (): void => {
  const named = [...rows.map(({ limit }) => limit), ...withoutRow];
  const belongs = (limit: string, name: string) => name === limit || name === limit.replace(/\.\w+$/, '.*');
  const missing = [...found.keys()].filter(
    (limit) => !limit.startsWith('setting ') && ![...named, ...withoutEdges].some((name) => belongs(limit, name)),
  );
  const gone = named.filter((name) => !found.has(name));
  if (missing.length > 0 || gone.length > 0)
    throw new Error(`docs/generate/limit-rows.ts lacks: ${missing.join(', ')}. These are gone: ${gone.join(', ')}.`);
};

const LARGER_UNITS: Record<Exclude<Unit, 'number'>, [name: string, size: number][]> = {
  bytes: [
    ['GiB', 1_073_741_824],
    ['MiB', 1_048_576],
    ['KiB', 1024],
    ['bytes', 1],
  ],
  ms: [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
    ['ms', 1],
  ],
  s: [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ],
};

/** In the largest unit in which it has at most one decimal. */
const format = (value: number | bigint, unit: Unit): string => {
  if (unit === 'number') return formatNumber(value);
  const [name, size] = LARGER_UNITS[unit].find(
    ([, size]) => Number(value) >= size && Number.isInteger((Number(value) * 10) / size),
  ) ?? ['', 1];
  return `${formatNumber(Number(value) / size)} ${name}`;
};

const renderRow = ({ limit, what, unit = 'number', setting = 'fixed', value = (same) => same }: LimitRow) => {
  const number = found.get(limit) as number | bigint;
  return [what, format(typeof number === 'bigint' ? number : value(number), unit), setting];
};

const renderQueues = () => {
  const limits = limitRequests(readConfig({}));
  const names = Object.entries(limits).flatMap(([name, limit]) =>
    typeof limit === 'object' && 'batches' in limit ? [{ name, limit }] : [],
  );
  const unknown = names.filter(({ name }) => !(name in queues));
  if (unknown.length > 0) throw new Error(`docs/generate/limit-rows.ts lacks the queues ${JSON.stringify(unknown)}`);
  const order = Object.keys(queues);
  return table(
    ['queue', 'requests', 'batches at once', 'a batch'],
    names
      .sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name))
      .map(({ name, limit }) => {
        const { requests, alone } = queues[name] as (typeof queues)[string];
        const size = `${formatNumber(limit.batchItems)} requests, or ${format(limit.batchBytes, 'bytes')}`;
        const gathering = limit.gatherTime > 0 ? `, gathered for ${limit.gatherTime} ms` : '';
        return [code(name), requests, String(limit.batches), alone ? 'one request' : `${size}${gathering}`];
      }),
  );
};

/** The settings that are numbers, sizes or times. */
const renderSettings = () =>
  table(
    ['setting', 'default', 'value'],
    variableNames
      .filter((name) => /\d\w* to \d|a number of bytes/.test(valueOfSetting(name) ?? ''))
      .map((name) => [
        `[${code(name)}](configuration.md#${name})`,
        defaultOf(name) || 'not set',
        valueOfSetting(name) as string,
      ]),
  );

export const renderLimits = (): string => {
  assertComplete();
  return renderPage(
    'Limits',
    'the constants in src/',
    'Every number that a client or an operator can meet. Limits apply per process, unless they say otherwise. Values that follow from a setting are those of its default. [Queues and timeouts](../explanation/queues-and-timeouts.md) explains the most important ones.',
    '## Settings',
    renderSettings(),
    ...Object.entries(sections).flatMap(([title, limits]) => [
      `## ${title}`,
      table(['what', 'value', 'setting'], limits.map(renderRow)),
      ...(title === 'Queues' ? ['With the default `DATABASE_CONNECTIONS`:', renderQueues()] : []),
    ]),
  );
};
