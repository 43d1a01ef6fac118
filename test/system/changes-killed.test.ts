import { setTimeout } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { runCommand, type StoreProcess, startStore } from '../support/store-process.ts';
import { changes, type Line, startReader, toNumber, useChanges } from '../support/use-changes.ts';
import { waitUntil } from '../support/wait-until.ts';

/** How often the reader is killed. `KILLS=20` takes a few minutes. PostgreSQL is killed once, or twice from 20 on. */
const KILLS = Number(process.env.KILLS ?? 3);
const WRITERS = 16;
const IDS = 40;
/** From the first line of a reader to its end, at most, in ms. */
const MAX_LIFE = 1000;

jest.setTimeout(180_000 + 30_000 * KILLS);

/** What really happened: triggers see the changes of a plant in the order of its lock, so of commits. */
const WATCH = `
  CREATE TABLE truth (number bigserial, change text, id bigint, name text, tag text);
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF tg_op = 'DELETE' THEN INSERT INTO truth (change, id) VALUES ('deleted', old.id);
    ELSIF tg_op = 'TRUNCATE' THEN INSERT INTO truth (change) VALUES ('emptied');
    ELSE INSERT INTO truth (change, id, name, tag)
      VALUES (CASE tg_op WHEN 'INSERT' THEN 'created' ELSE 'updated' END, new.id, new.name, new.tag);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON plants FOR EACH ROW EXECUTE FUNCTION note();
  CREATE TRIGGER note_truncate AFTER TRUNCATE ON plants FOR EACH STATEMENT EXECUTE FUNCTION note();`;

type Event = Pick<Line, 'change' | 'id' | 'name' | 'tag'>;
const server = useChanges();

const random = (count: number) => Math.floor(count * Math.random());

/** Sends changes of every kind until `isOver`. Errors count as no change. */
const write = async (store: StoreProcess, token: string, writer: number, isOver: () => boolean) => {
  for (let turn = 0; !isOver(); turn++) {
    const [id, name] = [random(IDS), `${writer}-${turn}`];
    const send = (method: string, path: string, body?: string, headers = {}) =>
      fetch(`${store.url}${path}`, {
        method,
        ...(body !== undefined && { body }),
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
      }).then(
        (response) => response.text(),
        () => setTimeout(100),
      );
    const plant = JSON.stringify({ id, name, ...(turn % 2 && { tag: name }) });
    const several = Array.from({ length: 5 }, (_, index) => JSON.stringify({ id: (id + index) % IDS, name }));
    // Once of the rarest kind, which a slow machine may not reach by chance.
    const kind = writer === 0 && turn === 3 ? 19 : random(20);
    if (kind < 8) await send('POST', '/plants', plant);
    else if (kind < 10) await send('POST', '/plants', plant, { 'Idempotency-Key': `"${name}"` });
    else if (kind < 12) await send('PATCH', `/plants/${id}`, JSON.stringify({ tag: name }));
    else if (kind < 14) await send('PUT', `/plants/${id}`, JSON.stringify({ name }), { 'If-Match': '*' });
    else if (kind < 18) await send('DELETE', `/plants/${id}`);
    else if (kind < 19 || writer > 0)
      await send('POST', '/plants/import?onConflict=replace', several.join('\n'), {
        'Content-Type': 'application/x-ndjson',
      });
    else await server.postgres.query('BEGIN; TRUNCATE plants; COMMIT').catch(() => setTimeout(100));
  }
};

/** The changes of the runs of a reader without repetitions, in the order of positions. @throws if a run is not in that order */
const merge = (runs: Line[][]): Event[] => {
  const transactions = new Map<bigint, Event[]>();
  for (const run of runs) {
    const found = new Map<bigint, Event[]>();
    let last = 0n;
    for (const { position, committedAt: _at, ...event } of run) {
      const at = toNumber(position);
      if (at < last) throw new Error(`${position} comes too late`);
      last = at;
      found.set(at, [...(found.get(at) ?? []), event]);
    }
    // A killed run may end amid a transaction.
    for (const [at, events] of found)
      if (events.length > (transactions.get(at)?.length ?? 0)) transactions.set(at, events);
  }
  return [...transactions].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, events]) => events);
};

/** What happened to a plant, and to all. */
const historyOf = (id: number, events: Event[]) =>
  events
    .filter((event) => event.id === id || event.id === undefined)
    .map(({ change, name, tag }) => [change, name, tag]);

test(`${WRITERS} writers, a reader killed ${KILLS} times and PostgreSQL: no change is lost, and those of a plant are in order`, async () => {
  await changes(server, 'killed', '--create');
  await server.postgres.query(WATCH);
  const token = (await runCommand(['token', 'create', '--name', 'test'], server.environment)).stdout.trim();
  const store = await startStore(server.environment as { DATA_DIR: string });
  let isOver = false;
  const writing = Promise.all(
    Array.from({ length: WRITERS }, (_, writer) => write(store, token, writer, () => isOver)),
  );
  const runs: Line[][] = [];
  const start = () => {
    const reader = startReader(server, 'killed');
    runs.push(reader.lines);
    return reader;
  };
  const killPostgresAt = KILLS < 20 ? [KILLS - 1] : [5, 15];
  for (let kill = 0; kill < KILLS; kill++) {
    const reader = start();
    await waitUntil('lines', () => reader.lines.length > 0 || reader.command.exitCode !== null);
    await setTimeout(random(MAX_LIFE));
    if (killPostgresAt.includes(kill)) {
      await server.postgres.kill();
      await server.postgres.start();
      expect(await reader.ended).toBe(1);
      expect(reader.errors.text).toMatch(/^The connection to PostgreSQL was lost: .* it goes on where it stopped, /);
    }
    await reader.end('SIGKILL');
  }
  isOver = true;
  await writing;
  await store.stop();
  await server.postgres.query("INSERT INTO plants VALUES (-1, 'the last', NULL)");
  const isComplete = () => runs.at(-1)?.at(-1)?.id === -1;
  let reader = start();
  await waitUntil('the last line', () => {
    // PostgreSQL may not have noticed yet that the reader before was killed.
    if (reader.command.exitCode !== null) reader = start();
    return isComplete();
  });
  expect(await reader.end('SIGTERM')).toBe(0);

  const rows = await server.postgres.query('SELECT change, id, name, tag FROM truth ORDER BY number');
  const truth = rows.map(({ change, id, name, tag }) => ({
    change,
    ...(id !== null && { id: Number(id) }),
    ...(name !== null && { name, tag }),
  })) as Event[];
  const events = merge(runs);
  const count = runs.reduce((sum, run) => sum + run.length, 0);
  process.stdout.write(`${truth.length} changes, ${count} lines, ${runs.length} readers\n`);
  expect(new Set(truth.map(({ change }) => change)).size).toBe(4);
  for (let id = -1; id < IDS; id++) expect([id, historyOf(id, events)]).toEqual([id, historyOf(id, truth)]);
});
