import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { readConfig } from '../../src/config/config.ts';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { createKeyReader } from '../../src/idempotency/keyed-request.ts';
import { createPlantRepository } from '../../src/plants/plant-repository.ts';
import { entityTag } from '../../src/plants/plant-representation.ts';
import { addPlantRoutes } from '../../src/plants/plant-routes.ts';
import { createPlantService } from '../../src/plants/plant-service.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const testDatabase = useTestDatabase();

/** The functions of src/ on the stack, the innermost first: `name file`. Callers before an `await` count, too. */
const framesOf = (error: Error): string[] =>
  [...(error.stack ?? '').matchAll(/^ {4}at (?:async )?(?:(.+?) \()?[^\n]*\/src\/([^:?]+\.ts)/gm)].map(
    ([, name = 'anonymous', file]) => `${name} ${file}`,
  );

/** Plant routes and what is behind them, and the functions that a request passes on its way to PostgreSQL. */
const start = () => {
  const path: string[] = [];
  const statements: string[] = [];
  let isWatched = false;
  const note = () => {
    if (isWatched) path.unshift(...framesOf(new Error('here')));
  };
  const pool = createPool({ url: testDatabase.url, connections: 2, connectTimeout: 5000, statementTimeout: 10_000 });
  const prisma = createDatabase({ pool, onConnectionLost: () => {} });
  const $queryRaw = (...[statement]: Parameters<Database['$queryRaw']>) => {
    note();
    if (isWatched) statements.push((statement as { sql: string }).sql);
    return prisma.$queryRaw(...([statement] as Parameters<Database['$queryRaw']>));
  };
  const $queryRawUnsafe = (sql: string) => prisma.$queryRawUnsafe(sql);
  const database = { $queryRaw, $queryRawUnsafe } as unknown as Database;
  const repository = createPlantRepository({ database, retention: 60_000 });
  const plants = createPlantService({ repository, limits: limitRequests(readConfig({})) });
  const pass: express.RequestHandler = (_request, _response, next) => next();
  const app = express();
  addPlantRoutes({
    plants,
    requireScope: () => pass,
    readKey: createKeyReader({ isDistributed: repository.isDistributed }),
    bodies: { limit: 1_000_000, timeout: 10_000, hold: () => {} },
  })(app);
  // A batch is sent in another turn of the event loop.
  const { setImmediate } = globalThis;
  jest.spyOn(globalThis, 'setImmediate').mockImplementation(((...parameters: Parameters<typeof setImmediate>) => {
    if (framesOf(new Error('here'))[0]?.startsWith('scheduleBatch')) note();
    return setImmediate(...parameters);
  }) as typeof setImmediate);
  return {
    app,
    /** Watches the next request. */
    watch: () => {
      path.splice(0);
      isWatched = true;
    },
    path,
    statements,
    close: () => prisma.$disconnect(),
  };
};

let store: ReturnType<typeof start>;
let stackTraceLimit: number;
beforeEach(() => {
  ({ stackTraceLimit } = Error);
  Error.stackTraceLimit = 100;
  store = start();
});
afterEach(async () => {
  Error.stackTraceLimit = stackTraceLimit;
  jest.restoreAllMocks();
  await store.close();
});

const filesOf = (path: string[]) => new Set(path.map((frame) => frame.split(' ').at(-1)));

describe('the functions from the handler to Prisma', () => {
  test('of a plain POST', async () => {
    store.watch();
    await request(store.app).post('/plants').send({ id: 1, name: 'Fir' }).expect(200);
    expect(store.path.at(-1)).toMatch(/plants\/plant-routes\.ts$/);
    expect(store.path.filter((frame) => frame.includes('batching/'))).toHaveLength(4);
    expect(store.path.length).toBeLessThanOrEqual(9);
    expect(filesOf(store.path).size).toBeLessThanOrEqual(6);
    expect(store.statements).toHaveLength(1);
  });

  testUnless(onCitus('keys are refused'), 'of a PATCH with If-Match and a key, which is one statement', async () => {
    await request(store.app).post('/plants').send({ id: 2, name: 'Fir' }).expect(200);
    store.watch();
    await request(store.app)
      .patch('/plants/2')
      .set({ 'If-Match': entityTag({ name: 'Fir', tag: undefined }), 'Idempotency-Key': 'a' })
      .send({ tag: 'Abies' })
      .expect(200, { name: 'Fir', tag: 'Abies' });
    expect(store.path.at(-1)).toMatch(/plants\/plant-routes\.ts$/);
    expect(store.path.filter((frame) => frame.includes('batching/'))).toHaveLength(4);
    expect(store.path.length).toBeLessThanOrEqual(10);
    expect(filesOf(store.path).size).toBeLessThanOrEqual(6);
    expect(store.statements).toHaveLength(1);
  });
});
