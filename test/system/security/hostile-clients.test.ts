import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect } from '@jest/globals';
import { freePort } from '../../../src/embedded-postgres/free-port.ts';
import { killChildren, spawnChild } from '../../support/children.ts';
import { testUnless } from '../../support/skip.ts';
import { projectFolder, runCommand, serve } from '../../support/store-process.ts';
import { useTestDatabase } from '../../support/use-test-database.ts';

/** How long all attacks run at once, in seconds. `npm run test:system` sets 30, `npm run test:security` 300. */
const SECONDS = Number(process.env.HOSTILE_SECONDS ?? 0);
/** A shorter run measures mostly the first seconds: its figures are only printed. */
const IS_JUDGED = SECONDS >= 300;
const MAX_MEMORY_MIB = 600;
/** In ms. */
const MAX_P99 = 1000;
const PAUSE = 20;
/** Greater than the ids that the well-behaved client reads. */
const LARGE_ID = 1_000_000_000_000;

afterEach(killChildren);
const database = useTestDatabase();

const memoryOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

type Call = { method: string; path: string; body?: object };

/** Sends requests on one connection. @returns status and duration in ms */
const createClient = (port: number, token: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return ({ method, path, body }: Call) =>
    new Promise<{ status: number; duration: number }>((resolve, reject) => {
      const startedAt = performance.now();
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
      const call = request({ port, agent, method, path, headers }, (response) => {
        response.resume();
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, duration: performance.now() - startedAt }),
        );
        response.on('error', reject);
      });
      call.on('error', reject);
      call.end(body && JSON.stringify(body));
    });
};

/** The requests of a well-behaved client. */
const lifeOf = (id: number): Call[] => [
  { method: 'POST', path: '/plants', body: { id, name: 'Fir', tag: 'Abies' } },
  { method: 'GET', path: `/plants/${id}` },
  { method: 'GET', path: '/plants?limit=10' },
  { method: 'PUT', path: `/plants/${id}`, body: { name: 'Yew' } },
  { method: 'PATCH', path: `/plants/${id}`, body: { tag: 'Taxus' } },
  { method: 'DELETE', path: `/plants/${id}` },
];

const obstacle = SECONDS > 0 ? undefined : 'HOSTILE_SECONDS is not set; npm run test:system sets it';

testUnless(
  obstacle,
  'during all attacks the store stays up, within its memory limit, and serves a client',
  async () => {
    const { stdout } = await runCommand(['token', 'create', '--name', 'test'], { DATABASE_URL: database.url });
    const token = stdout.trim();
    await database.query(
      'INSERT INTO plants (id, name) SELECT n, md5(n::text) || n FROM generate_series(1000, 200000) AS n',
    );
    await database.query(
      "INSERT INTO plants (id, name) SELECT n, repeat('x', 1040000) FROM generate_series($1::bigint, $1 + 30) AS n",
      [LARGE_ID],
    );
    const port = await freePort();
    const { process: store, stop } = await serve({
      environment: { DATABASE_URL: database.url, PORT: String(port), LOG_FORMAT: 'json' },
    });
    const target = JSON.stringify({ port, token, largeId: LARGE_ID });
    const attackers = spawnChild(process.execPath, [join('test', 'support', 'hostile', 'run.ts'), target], {
      cwd: projectFolder,
      stdio: 'ignore',
    });

    const call = createClient(port, token);
    const durations: number[] = [];
    const failures: string[] = [];
    let memory = 0;
    const end = performance.now() + SECONDS * 1000;
    for (let id = 1_000_000; performance.now() < end && store.exitCode === null; id++) {
      for (const next of lifeOf(id)) {
        const { status, duration } = await call(next);
        durations.push(duration);
        if (status >= 300) failures.push(`${next.method} ${next.path}: ${status}`);
        memory = Math.max(memory, memoryOf(store.pid ?? 0));
        await setTimeout(PAUSE);
      }
    }
    expect(attackers.exitCode).toBeNull();
    expect(store.exitCode).toBeNull();
    durations.sort((a, b) => a - b);
    const p99 = durations[Math.floor(durations.length * 0.99)] ?? 0;
    process.stderr.write(
      `\n${durations.length} requests during all attacks in ${SECONDS} s: p99 ${Math.round(p99)} ms, ` +
        `longest ${Math.round(durations.at(-1) ?? 0)} ms, ${failures.length} failed; memory at most ${Math.round(memory)} MiB\n`,
    );
    if (IS_JUDGED) {
      expect(failures).toEqual([]);
      expect(memory).toBeLessThan(MAX_MEMORY_MIB);
      expect(p99).toBeLessThan(MAX_P99);
    }
    expect(await stop()).toEqual([0, null]);
  },
  (SECONDS + 120) * 1000,
);
