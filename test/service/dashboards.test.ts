import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { errors } from '../../src/errors.ts';
import type { Sample } from '../support/scrape.ts';
import { useTestService } from '../support/use-test-service.ts';

type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } };
type Panel = { title: string; targets?: { expr: string }[] };

const rules = (
  parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(readFileSync('deploy/grafana/plant-store.json', 'utf8')) as {
  panels: Panel[];
  templating: { list: { query: string | { query: string } }[] };
};

/** Every expression, with its alert or panel. */
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** Added by Prometheus: whether it reached the store, and the store's address. */
const OF_PROMETHEUS = { names: ['up'], labels: ['instance', 'job'] };
/** Only with WORKERS, and tested there. */
const OF_WORKERS = { names: ['plant_store_worker_up', 'plant_store_workers'], labels: ['worker'] };
const KEYWORDS = ['by', 'without', 'on', 'ignoring', 'and', 'or', 'unless', 'bool', 'offset'];

/** The names of metrics and of labels in an expression of PromQL. */
const namesIn = (expression: string) => {
  const matchers = [...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner = '']) => [
    ...inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g),
  ]);
  const groupings = [...expression.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)];
  const rest = expression.replace(/\{[^}]*\}|\[[^\]]*\]/g, '').replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '');
  const metrics = [...rest.matchAll(/\b([a-z_]\w*)\b(?!\s*\()/g)].map(([, name = '']) => name);
  return {
    metrics: metrics.filter((name) => !KEYWORDS.includes(name)),
    labels: [
      ...matchers.map(([, label = '']) => label),
      ...groupings.flatMap(([, inner = '']) => inner.split(',').map((label) => label.trim())),
    ],
    errors: matchers.filter(([, label]) => label === 'error').map(([, , value = '']) => value),
  };
};

test('finds the names in an expression', () => {
  expect(
    namesIn('histogram_quantile(0.9, sum by (le, job) (rate(a_bucket{error="1", b!~"c|d"}[5m]))) / e_f > 1e9'),
  ).toEqual({ metrics: ['a_bucket', 'e_f'], labels: ['error', 'b', 'le', 'job'], errors: ['1'] });
});

describe('the dashboard and the alerts', () => {
  const service = useTestService({ METRICS_PORT: '0' });
  let samples: Sample[];
  beforeAll(async () => {
    await service.post({ id: 1, name: 'Fir' });
    samples = (await service.metrics()).samples;
  });

  test.each(expressions)('%s uses metrics, labels and codes that exist: %s', (_title, expression) => {
    const names = new Set(samples.map(({ name }) => name));
    const { metrics, labels, errors: errorCodes } = namesIn(expression);
    expect(metrics.length).toBeGreaterThan(0);
    expect(
      metrics.filter((name) => !names.has(name) && ![...OF_PROMETHEUS.names, ...OF_WORKERS.names].includes(name)),
    ).toEqual([]);
    const known = samples.filter(({ name }) => metrics.includes(name)).flatMap((sample) => Object.keys(sample.labels));
    const others = [...OF_PROMETHEUS.labels, ...OF_WORKERS.labels];
    expect(labels.filter((label) => ![...known, ...others].includes(label))).toEqual([]);
    const codes = Object.values(errors).map(({ code }) => String(code));
    expect(errorCodes.filter((code) => !codes.includes(code))).toEqual([]);
  });

  test('show every metric that the store defines', () => {
    const used = new Set(expressions.flatMap(([, expression]) => namesIn(expression).metrics));
    const own = samples.map(({ name }) => name).filter((name) => name.startsWith('plant_store_'));
    const families = new Set(own.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
    const isShown = (family: string) => [...used].some((name) => name.replace(/_(bucket|sum|count)$/, '') === family);
    expect([...families].filter((family) => !isShown(family))).toEqual([]);
  });

  test('docs/reference/metrics.md, which is made without a service, has every metric and label of this one', () => {
    const rows = [...readFileSync('docs/reference/metrics.md', 'utf8').matchAll(/^\| `(\w+)` \| \w+ \| (.*?) \|/gm)];
    const described = new Map(rows.map(([, name = '', labels = '']) => [name, labels]));
    const missing = samples.filter(({ name, labels }) => {
      const row = described.get(name) ?? described.get(name.replace(/_(bucket|sum|count)$/, ''));
      const own = Object.keys(labels).filter((label) => label !== 'le' && label !== 'quantile');
      return row === undefined || own.some((label) => !row.includes(`\`${label}\``));
    });
    expect(missing).toEqual([]);
  });

  test('select the store by an existing metric', () => {
    const queries = dashboard.templating.list.flatMap(({ query }) => (typeof query === 'object' ? [query.query] : []));
    expect(queries).toEqual(['label_values(plant_store_build_info, instance)']);
    expect(samples.map(({ name }) => name)).toContain('plant_store_build_info');
  });
});

test('docs/how-to/respond-to-alerts.md explains every alert and no other', () => {
  const described = [...readFileSync('docs/how-to/respond-to-alerts.md', 'utf8').matchAll(/^### (PlantStore\w+)$/gm)];
  expect(described.map(([, name]) => name).sort()).toEqual(rules.map(({ alert }) => alert).sort());
});

test('the alerts of 1500, 1501 and 1502 are the same but for the code, since only that of 1501 is tested in every case', () => {
  const [away, ...others] = ['1501', '1500', '1502'].map((code) =>
    rules
      .find(({ expr }) => expr.startsWith('max by') && expr.includes(`error="${code}"`))
      ?.expr.replaceAll(code, 'CODE'),
  );
  expect(away).toContain('error="CODE"');
  expect(others).toEqual([away, away]);
});
