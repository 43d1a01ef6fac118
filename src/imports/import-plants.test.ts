import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { importQuerySchema, NO_ROWS, type PlantRow } from './import.ts';
import { ImportInterruptedError } from './import-errors.ts';
import { importPlants } from './import-plants.ts';

/** More rows than a slice has. */
const ROWS = 5001;

test('an import whose rows cannot be staged ends at once, although its client pauses', async () => {
  const failure = new Error('the disk is full');
  const released: unknown[] = [];
  const session = {
    lockTimeout: 1000,
    query: async () => ({ rows: [], rowCount: 0 }),
    copy: () => Promise.reject(failure),
    commit: async () => {},
    release: (how: unknown) => void released.push(how),
  };
  const read = async function* (signal: AbortSignal) {
    yield Array.from({ length: ROWS }, (_, index) => ({ line: index + 1, plant: { id: BigInt(index), name: 'Fir' } }));
    if (!signal.aborted) await once(signal, 'abort');
    signal.throwIfAborted();
  };
  const settings = { sessions: { open: async () => session }, ending: new AbortController() };
  const outcome = await importPlants(read, importQuerySchema.parse({}), settings).catch((error) => error);
  expect(outcome).toBeInstanceOf(ImportInterruptedError);
  expect(outcome.cause).toBe(failure);
  expect(released).toEqual([{ isReusable: false }]);
});

test('each slice has as many rows as fit, not only the first', async () => {
  const copied: number[] = [];
  const session = {
    lockTimeout: 1000,
    query: () => (copied.length < 4 ? Promise.resolve({ rows: [], rowCount: 0 }) : Promise.reject(new Error('stored'))),
    copy: async (_sql: string, rows: readonly PlantRow[]) => void copied.push(rows.length),
    commit: async () => {},
    release: () => {},
  };
  const name = 'x'.repeat(300_000);
  const read = async function* () {
    for (let line = 1; line <= 10; line++) yield [{ line, plant: { id: BigInt(line), name } }];
  };
  const settings = { sessions: { open: async () => session }, ending: new AbortController() };
  await expect(importPlants(read, importQuerySchema.parse({}), settings)).rejects.toMatchObject({
    cause: new Error('stored'),
  });
  expect(copied).toEqual([3, 3, 3, 1]);
});

test('a file without rows opens no session', async () => {
  const read = async function* () {
    yield [];
  };
  const open = () => Promise.reject(new Error('opened'));
  const settings = { sessions: { open }, ending: new AbortController() };
  const { message } = await importPlants(read, importQuerySchema.parse({}), settings);
  expect(message).toBe(NO_ROWS);
});
