import { setTimeout } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { createPostgresServer } from '../support/postgres-server.ts';
import { runProgram } from '../support/run-program.ts';
import { startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';

/** How often each of the two is killed. `KILLS=30` takes a few minutes. */
const KILLS = Number(process.env.KILLS ?? 4);
const ROWS = 8000;
/** Before the last of them, in ms. */
const MAX_DELAY = 400;

jest.setTimeout(180_000 + 30_000 * KILLS);

const folder = useDataFolder();
test.each(['the service', 'PostgreSQL'])(
  'an import during which %s is killed stores all rows or none',
  async (killed) => {
    const postgres = await createPostgresServer({ folder: folder.path, name: 'killed' });
    await postgres.start();
    const environment = { DATA_DIR: folder.path, DATABASE_URL: postgres.url };
    expect(await runProgram(['migrate'], environment)).toMatchObject({ code: 0 });
    const { stdout } = await runProgram(['token', 'create', '--name', 'test'], environment);
    let store = await startStore(environment);

    /** Sends plants with the ids behind `first`. @returns undefined if there was no response */
    const importPlants = async (first: number, onConflict: string) => {
      const rows = Array.from({ length: ROWS }, (_, index) => `{"id":${first + index},"name":"Fir"}\n`);
      try {
        const response = await fetch(`${store.url}/plants/import?onConflict=${onConflict}`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${stdout.trim()}`, 'Content-Type': 'application/x-ndjson' },
          body: rows.join(''),
        });
        return { status: response.status, body: (await response.json()) as { message?: string } };
      } catch {
        return undefined;
      }
    };
    const count = async (first: number) => {
      const range = `id BETWEEN ${first} AND ${first + ROWS - 1}`;
      return Number((await postgres.query(`SELECT count(*) FROM plants WHERE ${range}`))[0]?.count);
    };
    const kill = async () => {
      if (killed === 'PostgreSQL') {
        await postgres.kill();
        await postgres.start();
      } else {
        process.kill(store.pid, 'SIGKILL');
        await store.exited;
      }
    };

    const outcomes: number[] = [];
    try {
      for (let index = 0; index < KILLS; index++) {
        const first = 100_000 * index;
        const importing = importPlants(first, 'error');
        // From before the first row to after the response.
        await setTimeout((index / KILLS) * MAX_DELAY + 20 * Math.random());
        await kill();
        const answer = await importing;
        if (killed === 'the service') store = await startStore(environment);
        const stored = await count(first);
        outcomes.push(stored);
        expect([0, ROWS]).toContain(stored);
        if (answer?.status === 200) expect(stored).toBe(ROWS);
        if (answer?.body.message?.includes('Nothing is stored.')) expect(stored).toBe(0);
        const again = await importPlants(first, 'skip');
        const counts = { created: ROWS - stored, replaced: 0, skipped: stored, failed: 0 };
        expect(again).toMatchObject({ status: 200, body: counts });
        expect(await count(first)).toBe(ROWS);
      }
    } finally {
      await store.stop();
      await postgres.stop();
    }
    process.stdout.write(
      `${killed} killed: ${outcomes.filter((stored) => stored > 0).length} of ${KILLS} imports stored\n`,
    );
  },
);
