import { afterEach, expect } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { limitRequests, type RequestLimits } from '../../src/request-limits.ts';
import { unless } from '../support/skip.ts';
import { blockReadsOfPlant100, slowReadsObstacle, waitForBlockedRead } from '../support/slow-plants.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';

const { describe, test } = unless(slowReadsObstacle);

let service: TestService;
let endSearches: () => Promise<void>;
// Before the service stops, as it waits for its searches.
afterEach(() => endSearches());
const startService = useTestServices();

/** Starts a service that reads plants 1 to 3 at once, while searches do not end until `endSearches`. */
const start = async (environment: Record<string, string> = {}, requestLimits: Partial<RequestLimits> = {}) => {
  // Searches wait for a lock instead of being slow.
  service = await startService(environment, { requestLimits: { lockTimeout: 3_600_000, ...requestLimits } });
  await service.database.query("INSERT INTO plants VALUES (1, 'Fir', NULL), (2, 'Fir', NULL), (3, 'Fir', NULL)");
  endSearches = await blockReadsOfPlant100(service.database);
};

const json = { 'Content-Type': 'application/json' };
const search = (query = 'q=sl') => service.request('get', `/plants?${query}`);
const changes = () => [
  service.request('put', '/plants/1').set(json).send('{"name":"Yew"}'),
  service.request('patch', '/plants/2').set('Content-Type', 'application/merge-patch+json').send('{"name":"Yew"}'),
  service.request('delete', '/plants/3'),
];

describe.each(['2', '10'])('with %s connections, slow searches', (connections) => {
  test.each(['q=sl', 'tag=x'])(
    'leave connections and queue slots for changes, creations and reads (%s)',
    async (query) => {
      await start({ DATABASE_CONNECTIONS: connections, QUEUE_LIMIT: '3' });
      const ended: string[] = [];
      const note = (name: string) => (response: { status: number }) => ended.push(`${name} ${response.status}`);
      const searches = Array.from({ length: 12 }, () => search(query).then(note('search')));
      await waitForBlockedRead(service.database);
      await Promise.all([
        ...changes().map((change) => change.then(note('change'))),
        service.post({ id: 4, name: 'Fir' }).then(note('create')),
        service.request('get', '/plants/2').then(note('read')),
      ]);
      const others = ended.filter((name) => !name.startsWith('search'));
      expect(others.sort()).toEqual(['change 200', 'change 200', 'change 204', 'create 200', 'read 200']);
      // Searches that do not fit into their queue are refused at once; no other search has ended.
      expect(ended.filter((name) => name.startsWith('search') && name !== 'search 503')).toEqual([]);
      await endSearches();
      await Promise.all(searches);
      expect(ended).toContain('search 200');
    },
  );
});

test.each([
  ['2', '/plants?q=sl'],
  ['10', '/plants?q=sl'],
  ['2', '/plants/count?tag=x'],
  ['2', '/plants?tag=x&dryRun=true'],
])(
  'with %s connections, searches by tag do not wait behind searches by name, or counts: %s',
  async (connections, path) => {
    await start({ DATABASE_CONNECTIONS: connections });
    await service.database.query("INSERT INTO stored VALUES (4, 'Yew', 'y')");
    const method = path.includes('dryRun') ? 'delete' : 'get';
    const slow = Array.from({ length: 12 }, () => service.request(method, path).then(() => 'slow'));
    await waitForBlockedRead(service.database);
    const first = await Promise.race([...slow, search('tag=y').then(({ body }) => body)]);
    expect(first).toEqual([{ id: 4, name: 'Yew', tag: 'y' }]);
    await endSearches();
    await Promise.all(slow);
  },
);

describe('a search that takes too long', () => {
  const tooSlow = {
    error: 1505,
    message:
      'The search took too long. A search for a tag alone is fast. The operator can speed up others: plant-store search-index create.',
  };

  test('gets 503, code 1505, which the metrics separate from an unreachable database', async () => {
    await start({ METRICS_PORT: '0' }, { statementTimeout: 4000 });
    const { status, body, headers } = await search();
    expect([status, body, headers['retry-after']]).toEqual([503, tooSlow, '1']);
    const { value } = await service.metrics();
    expect(value('plant_store_http_errors_total', { error: '1505' })).toBe(1);
    expect(value('plant_store_http_errors_total', { error: '1501' })).toBe(0);
    const line = service.log.find(({ error }) => error === 1505);
    expect(line).toMatchObject({ level: 'warn', status: 503 });
    expect(line).not.toHaveProperty('err');
  });

  test('also with a tag, which its message does not advise then', async () => {
    await start({}, { statementTimeout: 4000 });
    const { status, body } = await search('q=sl&tag=x');
    expect([status, body]).toEqual([503, tooSlow]);
  });

  test('also if a transaction_timeout ends it', async () => {
    await start();
    await service.database.query(`CREATE OR REPLACE VIEW plants AS SELECT * FROM stored
      WHERE set_config('transaction_timeout', '100', TRUE) IS NULL OR pg_advisory_lock_shared(1) IS NOT NULL`);
    const { status, body } = await search();
    expect([status, body]).toEqual([503, tooSlow]);
    expect(service.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('gets its response by the deadline, even if it had to wait first', async () => {
    const DATABASE_CONNECTIONS = '2';
    const { searches } = limitRequests(readConfig({ DATABASE_CONNECTIONS }));
    // Far apart, so that a busy machine changes no outcome.
    const [statementTimeout, deadline] = [2000, 3000];
    await start({ DATABASE_CONNECTIONS }, { statementTimeout, searches: { ...searches, deadline } });
    // No search ends before `endSearches`, so that each has its response from a time limit. Of the two that waited for the
    // first, one was sent to PostgreSQL, where it had less than its statement timeout, and one was not.
    const answers = await Promise.all([search(), search(), search()]);
    expect(answers.map(({ status, body }) => [status, body.error]).sort()).toEqual([
      [503, 1500],
      [503, 1505],
      [503, 1505],
    ]);
  });
});

test('the metrics include the queues for searches and changes', async () => {
  await start({ METRICS_PORT: '0' });
  await endSearches();
  await Promise.all([search(), ...changes()]);
  const { value } = await service.metrics();
  expect(value('plant_store_batch_items_sum', { queue: 'searches' })).toBe(1);
  expect(value('plant_store_batch_items_sum', { queue: 'changes' })).toBe(3);
  expect(value('plant_store_queue_limit_bytes', { queue: 'writes' })).toBe(67_108_864);
});
