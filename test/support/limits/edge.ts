import { expect, test } from '@jest/globals';
import { readConfig } from '../../../src/config/config.ts';
import { testUnless } from '../skip.ts';
import { findLimits } from './find-limits.ts';

const limits = findLimits();

/** In ms. Some limits are hundreds of megabytes. */
const TIMEOUT = 300_000;

/** @throws {Error} there is no limit of this name */
export const limitOf = (limit: string): number => {
  const value = limits.get(limit);
  if (typeof value !== 'number') throw new Error(`src/ has no number of the name ${limit}`);
  return value;
};

type Edge = {
  /** The outcomes one below the limit, at the limit, and one above it. */
  is: [below: unknown, at: unknown, above: unknown];
  /** Its outcome may come later. */
  of: (size: number) => unknown;
  /** A small one for a part or a store that takes it. By default, the value in src/. */
  value?: number;
  /** Why it cannot be tried here. */
  obstacle?: string | undefined;
};

/**
 * A row of the table of limits, with its test. Every limit has a row, or a line in ./other-limits.ts.
 * @param limit a name of `findLimits`
 * @param title what the limit means; if operators can change it, by which setting
 */
export const edge = (limit: string, title: string, { is, of, value, obstacle }: Edge): void =>
  testUnless(
    obstacle,
    `${title} (${limit})`,
    async () => {
      const size = value ?? limitOf(limit);
      const [below, at, above] = [await of(size - 1), await of(size), await of(size + 1)];
      expect({ below, at, above }).toEqual({ below: is[0], at: is[1], above: is[2] });
    },
    TIMEOUT,
  );

/**
 * A row for the range of a setting.
 * @param values the ends of the range, and the next ones outside of it
 */
export const range = (
  limit: `setting ${string}`,
  ...values: [below: string, least: string, most: string, above: string]
): void =>
  test(`is between both ends of its range (${limit})`, () => {
    const [, name = ''] = limit.split(' ');
    const accepted = values.map((value) => succeeds(() => readConfig({ [name]: value })));
    expect([limits.has(limit), ...accepted]).toEqual([true, false, true, true, false]);
  });

/** Whether a function throws no error, for `of`. */
export const succeeds = (run: () => unknown): boolean => {
  try {
    run();
    return true;
  } catch {
    return false;
  }
};
