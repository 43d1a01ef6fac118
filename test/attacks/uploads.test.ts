import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren, spawnChild } from '../support/children.ts';
import { uploadFloods } from '../support/hostile/uploads.ts';
import { projectFolder, runCommand, serve } from '../support/store-process.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

/** How long the slow client takes for an upload, in ms. `npm run test:security` sets HOSTILE_SECONDS to 300. */
const UPLOAD_TIME = Number(process.env.HOSTILE_SECONDS ?? 0) >= 300 ? 10_000 : 2000;
const UPLOADS = 20;
/** How many it sends at once. */
const LANES = 4;
const PIECES = 64;
const PIECE = 'x'.repeat(1_048_576 / PIECES - 20);

const database = useTestDatabase();
afterEach(async () => {
  killChildren();
  await database.query('TRUNCATE plants');
});

const createToken = async (name: string) =>
  (await runCommand(['token', 'create', '--name', name], { DATABASE_URL: database.url })).stdout.trim();

/** A client that sends nearly 1 MiB at a time, slowly, on one connection. */
const createSlowClient = (port: number, token: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  /** @returns the status, and why it is not 200 */
  return async (id: number) => {
    const [start, end] = [`{"id":${id},"name":"`, '"}'];
    const length = start.length + PIECES * PIECE.length + end.length;
    const upload = request({
      port,
      agent,
      method: 'POST',
      path: '/plants',
      headers: { ...headers, 'Content-Length': length },
    });
    const response = once(upload, 'response');
    upload.write(start);
    for (let sent = 0; sent < PIECES && !upload.destroyed; sent++) {
      await setTimeout(UPLOAD_TIME / PIECES);
      upload.write(PIECE);
    }
    upload.end(end);
    const [message] = await response;
    const body = await text(message);
    return message.statusCode === 200 ? 200 : `${message.statusCode} ${body}`;
  };
};

let stores = 0;

// All clients have the same address.
test.each(Object.keys(uploadFloods))(
  'a client that uploads slowly is served each time, beside %s',
  async (name) => {
    stores += 1;
    const [token, other] = [await createToken(`slow-${stores}`), await createToken(`fast-${stores}`)];
    const port = await freePort();
    const { stop } = await serve({
      environment: { DATABASE_URL: database.url, PORT: String(port), LOG_FORMAT: 'json', REQUEST_TIMEOUT: '20' },
    });
    const target = JSON.stringify({ port, token: other, largeId: 0, lockedId: 0 });
    const attackers = spawnChild(process.execPath, [join('test', 'support', 'hostile', 'run.ts'), target, name], {
      cwd: projectFolder,
      stdio: 'ignore',
    });
    const outcomes: unknown[] = [];
    const lane = async (_: unknown, first: number) => {
      const upload = createSlowClient(port, token);
      for (let id = first; id < UPLOADS; id += LANES) outcomes.push(await upload(id).catch(String));
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    expect(attackers.exitCode).toBeNull();
    attackers.kill('SIGKILL');
    expect(outcomes).toEqual(Array(UPLOADS).fill(200));
    expect(await stop()).toEqual([0, null]);
  },
  300_000,
);
