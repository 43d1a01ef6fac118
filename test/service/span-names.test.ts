import { afterEach, beforeEach, expect } from '@jest/globals';
import { startCollector } from '../support/collector.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { TEST_SESSION } from '../support/test-database.ts';
import { useTestServices } from '../support/use-test-service.ts';

let collector: Awaited<ReturnType<typeof startCollector>>;
beforeEach(async () => {
  collector = await startCollector();
});
const start = useTestServices();
afterEach(() => collector.stop());

testUnless(
  onCitus('keys are refused'),
  'the span of each statement is named after its operation and table',
  async () => {
    const service = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, RATE_LIMIT: '100/1m' });
    const keyed = { 'Idempotency-Key': 'a' };
    await service.post({ id: 1, name: 'Fir' });
    await service.post({ id: 2, name: 'Fir' }, keyed);
    await service.request('get', '/plants/1');
    await service.request('get', '/plants');
    await service.request('get', '/plants?tag=a');
    await service.request('put', '/plants/1').set('Idempotency-Key', 'b').send({ name: 'Oak' });
    await service.request('patch', '/plants/1').send({ name: 'Oak' });
    await service.request('delete', '/plants/1').set('Idempotency-Key', 'c');
    await service.request('delete', '/plants/2');
    await service.stopServer();
    const names = collector.spans.flatMap(({ name, attributes }) =>
      attributes['db.system.name'] === 'postgresql' ? name : [],
    );
    const counts: Record<string, number> = {};
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
    // The first asks whether the plants are distributed; the tokens are looked up at least once.
    expect(counts).toEqual({
      postgresql: 1,
      'SELECT tokens': expect.any(Number),
      'UPDATE tokens': 1,
      'INSERT rate_limits': 9,
      'INSERT plants': 2,
      'SELECT plants': 3,
      'UPDATE plants': 2,
      'DELETE plants': 2,
    });
  },
);

const opensOthers = onCitus('Citus opens connections of its own');
testUnless(
  opensOthers,
  'every connection is called plant-store in pg_stat_activity, unless its URL has another name',
  async () => {
    const service = await start();
    const { database } = service;
    const names = async () =>
      (
        await database.query(
          'SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = $1 AND application_name <> $2',
          [database.name, TEST_SESSION],
        )
      ).map(({ application_name: name }) => name);
    await service.agent.get('/readyz');
    await service.request('get', '/plants');
    expect(await names()).toEqual(['plant-store']);
    const url = new URL(database.url);
    url.searchParams.set('application_name', 'own');
    const other = await start({}, { databaseUrl: url.href });
    await other.agent.get('/readyz');
    expect((await names()).sort()).toEqual(['own', 'plant-store']);
  },
);
