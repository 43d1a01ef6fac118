import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { findLimits } from '../../support/limits/find-limits.ts';
import { besideTheirParts, withoutEdges } from '../../support/limits/other-limits.ts';

/** The rows of the files beside this one: an `edge` or a `range` of a name, or a test whose title has it in parentheses. */
const rows = globSync('test/service/limits/*.test.ts').flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/\b(?:edge|range)\(\s*'([^']+)'|\(([\w/-]+\.ts [A-Z][\w.]+)\)/g)].map(
    ([, name, inTitle]) => name ?? inTitle ?? '',
  ),
);
const listed = [...rows, ...withoutEdges, ...Object.keys(besideTheirParts)];
const limits = [...findLimits().keys()];
const belongs = (limit: string, name: string) => name === limit || name === limit.replace(/\.\w+$/, '.*');

test('every limit and time of src/ has a row', () => {
  expect(limits.filter((limit) => !listed.some((name) => belongs(limit, name)))).toEqual([]);
});

test('every row is for a limit of src/', () => {
  expect(listed.filter((name) => !limits.some((limit) => belongs(limit, name)))).toEqual([]);
});

test('no limit with a row is said to have no edge', () => {
  expect(rows.filter((name) => withoutEdges.includes(name))).toEqual([]);
});

test.each(Object.entries(besideTheirParts))('the test of %s exists', (_limit, [file, title]) => {
  expect(existsSync(file) && readFileSync(file, 'utf8').includes(title)).toBe(true);
});
