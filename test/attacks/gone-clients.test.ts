import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lockPlants } from '../support/lock-plants.ts';
import { blockedStatements, waitForBlocked } from '../support/lock-table.ts';
import { useRawConnections } from '../support/raw-connections.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

/** In ms. */
const MAX_TIME = 10_000;

const service = useTestService({ METRICS_PORT: '0' });
const open = useRawConnections(service);
let unlock = async () => {};
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  service.log.splice(0);
});
afterEach(async () => {
  await unlock();
  unlock = async () => {};
});

const header = (method: string, path: string, fields: Record<string, string | number> = {}) =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${service.token}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');

const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => `{"id":${index + 1},"name":"Fir ${index + 1}"}\n`).join('');
const inProgress = async (what: string) => (await service.metrics()).value(`plant_store_${what}_in_progress`);
const slotIsFree = (what: string) =>
  waitUntil('a free slot', async () => (await inProgress(what)) === 0, { patience: MAX_TIME });
const ended = () => service.log.find(({ msg }) => msg === 'import ended');

const LEAVE: [string, (socket: Socket) => unknown][] = [
  ['FIN', (socket) => socket.end()],
  ['close', (socket) => socket.destroy()],
  ['RST', (socket) => socket.resetAndDestroy()],
];

describe.each(LEAVE)('an import whose client leaves (%s) frees its slot', (_title, leave) => {
  test.each(['', '?onConflict=replace', '?atomic=true'])('while it waits for a lock: %s', async (query) => {
    unlock = await lockPlants(service.database.url);
    const rows = numbered(9000);
    const socket = await open();
    socket.write(header('POST', `/plants/import${query}`, { ...NDJSON, 'Content-Length': rows.length }) + rows);
    await waitForBlocked(service.database, 'plants');
    leave(socket);
    await slotIsFree('imports');
    expect(ended()).toMatchObject({ outcome: 'interrupted', created: 0 });
    await waitUntil('the end of its statements', async () => (await blockedStatements(service.database)).length === 0);
  });

  test('within its body', async () => {
    const rows = numbered(400_000);
    const socket = await open();
    socket.write(header('POST', '/plants/import', { ...NDJSON, 'Content-Length': rows.length + 1 }) + rows);
    await waitUntil('the import', async () => (await inProgress('imports')) === 1);
    leave(socket);
    await slotIsFree('imports');
    expect(ended()).toMatchObject({ outcome: 'interrupted' });
  });
});

test.each(LEAVE.slice(1))(
  'an import whose client leaves (%s) after its body, which is still to be decompressed, frees its slot',
  async (_title, leave) => {
    const bytes = gzipSync(numbered(1_000_000));
    const fields = { ...NDJSON, 'Content-Encoding': 'gzip', 'Content-Length': bytes.length };
    const socket = await open();
    socket.write(header('POST', '/plants/import', fields));
    socket.write(bytes);
    let isOver = false;
    const others = (async () => {
      for (let id = 2_000_000; !isOver; id++) {
        expect((await service.post({ id, name: 'Yew' })).status).toBe(200);
        await setTimeout(20);
      }
    })();
    await waitUntil('rows', async () => ((await service.metrics()).value('plant_store_import_rows_total') ?? 0) >= 0);
    await setTimeout(500);
    leave(socket);
    await slotIsFree('imports');
    isOver = true;
    await others;
    expect(ended()).toMatchObject({ outcome: 'interrupted' });
    expect(Number(ended()?.created)).toBeLessThan(900_000);
  },
);

test.each(LEAVE.slice(1))(
  'an export whose client leaves (%s) while its statement waits frees its slot',
  async (_title, leave) => {
    unlock = await lockPlants(service.database.url);
    const socket = await open();
    socket.write(header('GET', '/plants/export'));
    await waitForBlocked(service.database, 'FROM plants');
    leave(socket);
    await slotIsFree('exports');
    await waitUntil('the end of its statement', async () => (await blockedStatements(service.database)).length === 0);
  },
);
