import { PassThrough, Readable } from 'node:stream';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { createSlots } from '../../../src/batching/bulk.ts';
import { type ImportOptions, type ImportRow, importQuerySchema, type PlantRow } from '../../../src/imports/import.ts';
import { readImportBody } from '../../../src/imports/import-body.ts';
import { importPlants } from '../../../src/imports/import-plants.ts';
import type { ImportSession } from '../../../src/imports/import-session.ts';
import { readRows } from '../../../src/imports/read-rows.ts';
import { edge, limitOf, succeeds } from '../../support/limits/edge.ts';

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const OPTIONS: ImportOptions = { onConflict: 'error', dryRun: false, atomic: false, maxErrors: 1000 };
const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const plantRows = (count: number, length = 1): PlantRow[] =>
  range(count).map((index) => ({ line: index + 1, plant: { id: BigInt(index), name: 'x'.repeat(length) } }));
const failedRows = (count: number): ImportRow[] => range(count).map((line) => ({ line, error: 1003, message: '' }));

/** A session of a table that takes all rows. */
const SESSION: ImportSession = {
  lockTimeout: 1000,
  query: async () => ({ rows: [], rowCount: 0 }),
  copy: async () => {},
  commit: async () => {},
  release: () => {},
};

/** Imports rows. @returns whether they were accepted, and the slices that were staged */
const importRows = async (rows: ImportRow[], options: Partial<ImportOptions> = {}) => {
  let staged = 0;
  const copy = async () => {
    staged += 1;
  };
  const session = { ...SESSION, copy };
  async function* read() {
    yield* rows.map((row) => [row]);
  }
  const settings = { sessions: { open: async () => session }, ending: new AbortController() };
  const { isAccepted } = await importPlants(read, { ...OPTIONS, ...options }, settings);
  return { isAccepted, staged };
};

describe('an import', () => {
  edge('imports/import.ts DEFAULT_MAX_ERRORS', 'accepts as many failed rows as maxErrors says, by default 1000', {
    is: [true, true, false],
    of: async (failed) =>
      (await importRows(failedRows(failed), { maxErrors: importQuerySchema.parse({}).maxErrors })).isAccepted,
  });
  edge('imports/import.ts MAX_ERRORS', 'has at most 10,000 as maxErrors', {
    is: [true, true, false],
    of: (maxErrors) => succeeds(() => importQuerySchema.parse({ maxErrors: String(maxErrors) })),
  });
  edge('imports/import-plants.ts MAX_SLICE_ROWS', 'needs no temporary table up to 5000 rows', {
    is: [0, 0, 2],
    of: async (count) => (await importRows(plantRows(count))).staged,
  });
  edge('imports/import-plants.ts MAX_SLICE_LENGTH', 'needs no temporary table up to 1,048,576 characters', {
    is: [0, 0, 2],
    of: async (length) => (await importRows([...plantRows(1, length - 1), ...plantRows(1)])).staged,
  });
  const slotsOf = (limit: string) => ({
    is: [
      [true, true],
      [true, true],
      [false, false],
    ] as [unknown, unknown, unknown],
    of: (count: number) => {
      const take = (holders: (string | number)[]) => {
        const slots = createSlots(limitOf(limit), 'imports');
        return succeeds(() => holders.forEach((holder) => void slots.take(String(holder))));
      };
      // One more than half of them is one more of this token.
      return [take(range(count)), take(range(count - limitOf(limit) / 2).fill(0))];
    },
  });
  edge(
    'RequestLimits imports.count',
    'has one of four slots, of which a token has two',
    slotsOf('RequestLimits imports.count'),
  );
  edge(
    'RequestLimits exports.count',
    'has more slots than an export: two, of which a token has one',
    slotsOf('RequestLimits exports.count'),
  );
});

describe('a file', () => {
  const piecesOf = (texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)));
  const outcome = (rows: AsyncIterable<ImportRow[]>) =>
    Array.fromAsync(rows).then(
      (turns) => turns.flat().map((row) => ('plant' in row ? 'stored' : row.error)),
      ({ code }) => code,
    );
  const csv = (text: string | string[], maxLineBytes = 1_048_576) =>
    outcome(readRows(piecesOf([text].flat()), { format: 'csv', maxLineBytes }));

  edge('imports/read-csv.ts MAX_FIELDS', 'of CSV has at most 1000 fields in a row, the header row as well', {
    is: [['stored'], ['stored'], 1002],
    of: (fields) => csv(`id,name${',x'.repeat(fields - 2)}\n1,Fir${','.repeat(fields - 2)}`),
  });
  edge('imports/read-csv.ts MAX_ID_LENGTH', 'of CSV has ids of at most 40 characters', {
    is: [['stored'], ['stored'], [1003]],
    of: (length) => csv(`id,name\n${'1'.padStart(length, '0')},Fir`),
  });
  edge('imports/read-csv.ts MAX_HEAD', 'of CSV has its delimiter recognized from 16 KiB', {
    is: [['stored'], 1003, 1003],
    of: (size) => csv(['x'.repeat(size), ';id;name\n1;2;Fir']),
  });
  edge('setting BODY_LIMIT', 'has rows of at most BODY_LIMIT bytes', {
    value: 2000,
    is: [
      [['stored'], ['stored'], ['stored']],
      [['stored'], ['stored'], ['stored']],
      [[1002], 1002, 1002],
    ],
    of: async (size) => {
      const row = `{"id":1,"name":"${'x'.repeat(size - 18)}"}`;
      return [
        await outcome(readRows(piecesOf([`${row}\n`]), { format: 'ndjson', maxLineBytes: 2000 })),
        // Delimiters do not count.
        await csv(`id,name,x\n1,${'x'.repeat(size - 101)},${'x'.repeat(100)}\n`, 2000),
        // Nor does the number of characters.
        await csv(`id,name,x\n1,${'é'.repeat(900)}${'x'.repeat(size - 1901)},${'木'.repeat(33)}x\n`, 2000),
      ];
    },
  });
});

describe('a body without a row', () => {
  const ROW_TIMEOUT = limitOf('RequestLimits imports.rowTimeout');
  /** Reads an import whose client sends bytes that are no row. */
  const start = () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const request = Object.assign(new PassThrough(), { headers: { 'content-type': 'application/x-ndjson' } });
    const response = { locals: {}, destroyed: false } as unknown as Response;
    const progress = { rows: 0 };
    let code: number | undefined;
    const reading = importPlants(
      readImportBody(request as unknown as Request, response, { maxLineBytes: 1_048_576 }),
      OPTIONS,
      {
        sessions: { open: async () => SESSION },
        ending: new AbortController(),
        rowTimeout: ROW_TIMEOUT,
        progress,
      },
    ).catch(({ cause }) => {
      code = cause.code;
    });
    return {
      pass: async (milliseconds: number) => {
        await jest.advanceTimersByTimeAsync(milliseconds);
        await new Promise(setImmediate);
      },
      send: async (text: string) => {
        request.write(text);
        for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      },
      seen: () => ({ count: progress.rows, code }),
      end: async () => {
        request.end();
        await reading;
      },
    };
  };

  edge('RequestLimits imports.rowTimeout', 'ends an import after a minute', {
    is: [undefined, 1203, 1203],
    of: async (milliseconds) => {
      const { pass, seen, end } = start();
      await pass(milliseconds);
      const { code } = seen();
      await end();
      return code;
    },
  });
  test('does not end an import that takes longer, while its rows keep coming', async () => {
    const { pass, send, seen, end } = start();
    for (let row = 0; row < 4; row++) {
      await pass(ROW_TIMEOUT - 1);
      await send(`{"id":${row},"name":""}\n`);
    }
    expect(seen()).toEqual({ count: 4, code: undefined });
    await pass(ROW_TIMEOUT);
    expect(seen().code).toBe(1203);
    await end();
  });
});
