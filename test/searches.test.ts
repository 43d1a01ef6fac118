import { afterEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { scrape } from './support/scrape.ts';
import { startTestService, type TestService } from './support/test-service.ts';

let service: TestService;
let endSearches: () => Promise<void>;
afterEach(async () => {
  await endSearches();
  await service.stop();
});

/** Plants below 100 are found at once; a search walks over one that PostgreSQL does not get past until `endSearches`. */
const start = async (environment: Record<string, string> = {}) => {
  service = await startTestService(environment);
  await service.database.query(`
    INSERT INTO plants VALUES (1, 'Fir', NULL), (2, 'Fir', NULL), (3, 'Fir', NULL), (100, 'slow', 'x');
    ALTER TABLE plants RENAME TO stored;
    CREATE VIEW plants AS SELECT * FROM stored WHERE id < 100 OR pg_advisory_lock_shared(1) IS NOT NULL`);
  const client = new Client({ connectionString: service.database.url });
  await client.connect();
  await client.query('SELECT pg_advisory_lock(1)');
  endSearches = () => client.end();
};

const json = { 'Content-Type': 'application/json' };
const search = (query = 'q=sl') => service.request('get', `/plants?${query}`);
const changes = () => [
  service.request('put', '/plants/1').set(json).send('{"name":"Yew"}'),
  service.request('patch', '/plants/2').set('Content-Type', 'application/merge-patch+json').send('{"name":"Yew"}'),
  service.request('delete', '/plants/3'),
];
const metrics = () =>
  scrape(`http://127.0.0.1:${service.log.find(({ msg }) => msg === 'metrics are served')?.port}/metrics`);
/** Searches under way in PostgreSQL. */
const running = async () =>
  (
    await service.database.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'",
    )
  ).length;

describe.each(['2', '10'])('with %s connections, searches that are slow', (connections) => {
  test.each(['q=sl', 'tag=x'])(
    'leave their connections and places to changes, creations and reads (%s)',
    async (query) => {
      await start({ DATABASE_CONNECTIONS: connections, QUEUE_LIMIT: '3' });
      const ended: string[] = [];
      const note = (name: string) => (response: { status: number }) => ended.push(`${name} ${response.status}`);
      const searches = Array.from({ length: 12 }, () => search(query).then(note('search')));
      while ((await running()) === 0);
      await Promise.all([
        ...changes().map((change) => change.then(note('change'))),
        service.post({ id: 4, name: 'Fir' }).then(note('create')),
        service.request('get', '/plants/2').then(note('read')),
      ]);
      const others = ended.filter((name) => !name.startsWith('search'));
      expect(others.sort()).toEqual(['change 200', 'change 200', 'change 204', 'create 200', 'read 200']);
      // Those that do not fit into their queue are refused at once; none was answered before the others.
      expect(ended.filter((name) => name.startsWith('search') && name !== 'search 503')).toEqual([]);
      await endSearches();
      await Promise.all(searches);
      expect(ended).toContain('search 200');
    },
  );
});

describe('a search that takes too long', () => {
  const tooSlow = {
    error: 1505,
    message:
      'The search took too long; narrow it, for example with three or more characters of the name, or with a tag.',
  };

  test('is 503, code 1505, which no alert takes for a database that is away', async () => {
    await start({ REQUEST_TIMEOUT: '2', METRICS_PORT: '0' });
    const { status, body, headers } = await search();
    expect([status, body, headers['retry-after']]).toEqual([503, tooSlow, '1']);
    const { value } = await metrics();
    expect(value('plant_store_http_errors_total', { error: '1505' })).toBe(1);
    expect(value('plant_store_http_errors_total', { error: '1501' })).toBe(0);
    expect(service.log).toContainEqual(expect.objectContaining({ status: 503, error: 1505 }));
  });

  test('is told so by its deadline, where it had to wait before', async () => {
    await start({ REQUEST_TIMEOUT: '5', DATABASE_CONNECTIONS: '2' });
    const sentAt = performance.now();
    const answers = await Promise.all([search(), search(), search()]);
    expect(performance.now() - sentAt).toBeLessThan(5000);
    // Of those behind the first, one was sent in the end, and the other was not.
    expect(answers.map(({ status, body }) => [status, body.error]).sort()).toEqual([
      [503, 1500],
      [503, 1505],
      [503, 1505],
    ]);
  });
});

test('the queues of searches and changes are measured', async () => {
  await start({ METRICS_PORT: '0' });
  await endSearches();
  await Promise.all([search(), ...changes()]);
  const { value } = await metrics();
  expect(value('plant_store_batch_items_sum', { queue: 'searches' })).toBe(1);
  expect(value('plant_store_batch_items_sum', { queue: 'changes' })).toBe(3);
  expect(value('plant_store_queue_limit_bytes', { queue: 'writes' })).toBe(67_108_864);
});
