import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { pino } from 'pino';
import { createTracing } from '../../src/observability/tracing.ts';
import { startCollector } from '../support/collector.ts';
import { sendFromClient } from '../support/leaving-client.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { waitForBlocked } from '../support/lock-table.ts';
import type { SentSpan } from '../support/otlp.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitForWrites } from '../support/wait-for-writes.ts';
import { waitUntil } from '../support/wait-until.ts';

const CLIENT_TRACE = '0af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN = 'b7ad6b7169203331';
const SAMPLED = `00-${CLIENT_TRACE}-${CLIENT_SPAN}-01`;

let collector: Awaited<ReturnType<typeof startCollector>>;
let service: TestService;
beforeEach(async () => {
  collector = await startCollector();
});
const startService = useTestServices();
// After the service, which sends its last spans when it stops.
afterEach(() => collector.stop());

const start = async (environment: Record<string, string> = {}) => {
  service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, ...environment });
};

/** Stops the service, which then sends its spans. @returns the spans of one trace or of all, also by name if that is unique */
const sent = async (traceId?: string) => {
  await service.stopServer();
  const spans = collector.spans.filter((span) => traceId === undefined || span.traceId === traceId);
  const named = (name: string) => {
    const found = spans.filter((span) => span.name === name);
    if (found.length !== 1) throw new Error(`${found.length} spans named ${name}: ${spans.map((span) => span.name)}`);
    return found[0] as SentSpan;
  };
  return { spans, named };
};

const traceOf = (id: string) => service.log.find(({ requestId }) => requestId === id)?.traceId;

describe('a request is traced', () => {
  test('from the client through queue and batch to the SQL', async () => {
    await start();
    await service.post({ id: 1, name: 'Secret fir' });
    const response = await service.post(
      { id: 2, name: 'Secret fir' },
      { traceparent: SAMPLED, tracestate: 'a=1', 'X-Request-Id': 'traced' },
    );
    expect(response.status).toBe(200);
    expect(traceOf('traced')).toBe(CLIENT_TRACE);
    const { spans, named } = await sent(CLIENT_TRACE);
    expect(spans.map(({ name }) => name).sort()).toEqual(['INSERT plants', 'POST /plants', 'batch', 'queue']);
    const [request, queue, batch, sql] = ['POST /plants', 'queue', 'batch', 'INSERT plants'].map(named);
    expect(request).toMatchObject({ parentSpanId: CLIENT_SPAN, kind: 2, status: 0 });
    expect(request?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/plants',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'url.path': '/plants',
      'network.protocol.version': '1.1',
    });
    expect(queue).toMatchObject({ parentSpanId: request?.spanId, kind: 1 });
    expect(batch).toMatchObject({
      parentSpanId: queue?.spanId,
      attributes: { 'plant_store.queue': 'writes', 'plant_store.batch.items': 1 },
    });
    expect(sql).toMatchObject({ parentSpanId: batch?.spanId, kind: 3 });
    expect(sql?.attributes).toMatchObject({ 'db.system.name': 'postgresql', 'db.query.summary': 'INSERT plants' });
    expect(sql?.attributes['db.query.text']).toContain('INSERT INTO plants');
    for (const span of spans) expect(span.end).toBeGreaterThan(span.start);
    expect(request?.resource).toMatchObject({ 'service.name': 'plant-store', 'service.version': '1.0.0' });
    expect(JSON.stringify(spans, (_key, value) => String(value))).not.toContain('Secret');
    expect(response.headers.traceresponse).toBe(`00-${CLIENT_TRACE}-${request?.spanId}-01`);
  });

  test('down to the SQL of each operation', async () => {
    await start();
    await service.post({ id: 1, name: 'Fir' });
    const send = (request: ReturnType<typeof service.agent.get>) =>
      request.set({ Authorization: `Bearer ${service.token}`, traceparent: SAMPLED }).then(({ status }) => status);
    const { agent } = service;
    expect(await send(agent.get('/plants/1'))).toBe(200);
    expect(await send(agent.get('/plants?limit=1'))).toBe(200);
    expect(await send(agent.get('/plants?tag=x'))).toBe(200);
    expect(await send(agent.put('/plants/1').send({ name: 'Yew' }))).toBe(200);
    expect(await send(agent.delete('/plants/1'))).toBe(204);
    const { spans } = await sent(CLIENT_TRACE);
    const nameOf = (spanId?: string) => spans.find((span) => span.spanId === spanId)?.name;
    const statements = spans
      .filter(({ kind }) => kind === 3)
      .map(({ name, parentSpanId }) => [nameOf(parentSpanId), name]);
    expect(statements).toEqual([
      ['batch', 'SELECT plants'],
      ['batch', 'SELECT plants'],
      ['GET /plants', 'SELECT plants'],
      ['PUT /plants/:id', 'UPDATE plants'],
      ['DELETE /plants/:id', 'DELETE plants'],
    ]);
    expect(spans.filter(({ name }) => name === 'queue').map(({ attributes }) => attributes)).toEqual([
      { 'plant_store.queue': 'reads' },
      { 'plant_store.queue': 'pages' },
    ]);
  });

  test('in a new trace if the client sends none, including the lookup of its token', async () => {
    await start();
    await service.post({ id: 1, name: 'Fir' }, { 'X-Request-Id': 'own' });
    const traceId = String(traceOf('own'));
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    const { named } = await sent(traceId);
    expect(named('POST /plants').parentSpanId).toBe('');
    expect(named('SELECT tokens').parentSpanId).toBe(named('POST /plants').spanId);
  });

  test.each([`00-${'0'.repeat(32)}-${CLIENT_SPAN}-01`, `ff-${CLIENT_TRACE}-${CLIENT_SPAN}-01`, 'x', `${SAMPLED}-x`])(
    'in a new trace if the client sends %j',
    async (traceparent) => {
      await start();
      await service.agent.get('/').set('traceparent', traceparent).set('X-Request-Id', 'odd');
      expect(traceOf('odd')).toMatch(/^(?!0{32}|0af7)[0-9a-f]{32}$/);
    },
  );

  test('whatever its outcome; the status is an error only if the service failed', async () => {
    await start();
    await service.post('{"id":');
    await service.agent.get('/nowhere?secret=1');
    await service.database.query('DROP TABLE plants');
    await service.post({ id: 1, name: 'Fir' }, { traceparent: SAMPLED });
    const { spans } = await sent();
    const requests = spans.filter(({ kind }) => kind === 2);
    expect(requests.map(({ name, status }) => [name, status])).toEqual([
      ['POST /plants', 0],
      ['GET', 0],
      ['POST /plants', 2],
    ]);
    expect(requests.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([400, 404, 503]);
    expect(requests.map(({ attributes }) => attributes['plant_store.error.code'])).toEqual([1000, 1200, 1502]);
    expect(requests[1]?.attributes['url.path']).toBe('/nowhere');
    expect(requests[2]?.attributes['error.type']).toBe('503');
    expect(spans.find(({ name }) => name === 'INSERT plants')).toMatchObject({ traceId: CLIENT_TRACE, status: 2 });
  });

  test('even if its client leaves before the response, which is an error without a status code', async () => {
    await start();
    const unlock = await lockPlants(service.database.url);
    const client = sendFromClient(service, service.token, { method: 'GET', path: '/plants/1' });
    await waitForBlocked(service.database, 'plants');
    await client.leave();
    await unlock();
    const { status, attributes } = (await sent()).named('GET /plants/:id');
    expect([status, attributes['error.type'], attributes['http.response.status_code']]).toEqual([
      2,
      'aborted',
      undefined,
    ]);
  });
});

describe('imports and exports are one span each', () => {
  const send = (query: string, body: string) =>
    service.agent
      .post(`/plants/import${query}`)
      .set({ Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/x-ndjson', traceparent: SAMPLED })
      .send(body);
  const rows = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => `{"id":${from + index},"name":"Secret"}\n`).join('');
  /** The spans of a name, which must be children of a request's span. */
  const bulkSpans = ({ spans }: Awaited<ReturnType<typeof sent>>, name: string, route: string) => {
    const requests = spans.filter((span) => span.name === route).map(({ spanId }) => spanId);
    const found = spans.filter((span) => span.name === name);
    for (const { parentSpanId } of found) expect(requests).toContain(parentSpanId);
    return found;
  };

  test.each(['', '&dryRun=true', '&onConflict=replace', '&atomic=true'])('import: ?maxErrors=3%s', async (query) => {
    await start();
    expect((await send('?onConflict=skip', rows(1, 10))).status).toBe(200);
    await send(`?maxErrors=3${query}`, `{}\n${rows(10, 6000)}`);
    await send(`?maxErrors=0${query}`, '{}\n');
    const found = await sent(CLIENT_TRACE);
    expect(found.spans.filter(({ name }) => /plants$/.test(name) && !/^POST/.test(name))).toEqual([]);
    const [first, second, third] = bulkSpans(found, 'import', 'POST /plants/import');
    const attributes = (created: number, replaced: number, skipped: number, failed: number, outcome: string) => ({
      'plant_store.import.created': created,
      'plant_store.import.replaced': replaced,
      'plant_store.import.skipped': skipped,
      'plant_store.import.failed': failed,
      'plant_store.import.outcome': outcome,
    });
    expect(first).toMatchObject({ kind: 1, status: 0, attributes: attributes(10, 0, 0, 0, 'completed') });
    const replaces = query.includes('replace');
    expect(second?.attributes).toEqual(
      query.includes('atomic')
        ? { ...attributes(0, 0, 0, 2, 'refused'), 'plant_store.import.stopped_at': 2 }
        : attributes(5990, Number(replaces), 0, replaces ? 1 : 2, 'completed'),
    );
    expect(third?.attributes).toEqual({ ...attributes(0, 0, 0, 1, 'refused'), 'plant_store.import.stopped_at': 1 });
    expect(JSON.stringify(found.spans, (_key, value) => String(value))).not.toContain('Secret');
  });

  test('an interrupted import is an error', async () => {
    await start();
    await service.database.query('ALTER TABLE plants RENAME TO other');
    expect((await send('', rows(1, 10))).status).toBe(503);
    const [span] = bulkSpans(await sent(CLIENT_TRACE), 'import', 'POST /plants/import');
    expect(span?.status).toBe(2);
    expect(span?.attributes).toMatchObject({
      'error.type': 'ImportInterruptedError',
      'plant_store.import.outcome': 'interrupted',
      'plant_store.import.created': 0,
    });
  });

  test('export', async () => {
    await start();
    await service.database.query("INSERT INTO plants SELECT id, 'Secret' FROM generate_series(1, 12000) AS id");
    const get = () => service.request('get', '/plants/export').set('traceparent', SAMPLED);
    expect((await get()).status).toBe(200);
    await service.database.query('ALTER TABLE plants RENAME TO other');
    expect((await get()).status).toBe(503);
    const found = await sent(CLIENT_TRACE);
    expect(found.spans.filter(({ name }) => name.endsWith(' plants'))).toEqual([]);
    expect(bulkSpans(found, 'export', 'GET /plants/export')).toMatchObject([
      { status: 0, attributes: { 'plant_store.export.rows': 12_000 } },
      { status: 2 },
    ]);
  });
});

test('a batch is part of the trace of its first plant, and the other plants link to it', async () => {
  await start({ METRICS_PORT: '0' });
  const unlock = await lockPlants(service.database.url);
  const posts: Promise<unknown>[] = [];
  // One at a time, so that two take the two batch slots, and the others wait and form one batch.
  let thirdWaitsSince = 0;
  for (let id = 1; id <= 5; id++) {
    posts.push(service.post({ id, name: 'Fir' }, { 'X-Request-Id': `plant-${id}` }).then());
    await waitForWrites(service, id);
    if (id === 3) thirdWaitsSince = performance.now();
  }
  const waited = performance.now() - thirdWaitsSince;
  await unlock();
  await Promise.all(posts);
  const [third, fourth, fifth] = [3, 4, 5].map((id) => String(traceOf(`plant-${id}`)));
  const { spans } = await sent();
  const batch = spans.find(({ attributes }) => attributes['plant_store.batch.items'] === 3);
  const queueOf = (traceId?: string) => spans.find((span) => span.traceId === traceId && span.name === 'queue');
  expect(batch).toMatchObject({ traceId: third, parentSpanId: queueOf(third)?.spanId });
  expect(batch?.links).toEqual([queueOf(fourth)?.spanId, queueOf(fifth)?.spanId]);
  expect(queueOf(fourth)?.links).toEqual([batch?.spanId]);
  expect(queueOf(fifth)?.links).toEqual([batch?.spanId]);
  // In ns. The third waited for the others to arrive and for the lock.
  expect(Number((queueOf(third)?.end ?? 0n) - (queueOf(third)?.start ?? 0n))).toBeGreaterThan(waited * 1e6);
});

test('a batch of hundreds of plants links to each of them', async () => {
  const { observeQueue, stop } = createTracing({
    url: `${collector.endpoint}/v1/traces`,
    exporter: 'otlp',
    protocol: 'http/protobuf',
    sampling: { sampler: 'always_on', argument: '' },
    logger: pino({ enabled: false }, new PassThrough()),
  });
  const queue = observeQueue('writes');
  const request = trace.wrapSpanContext({ traceId: CLIENT_TRACE, spanId: CLIENT_SPAN, traceFlags: 1 });
  const enter = () => context.with(trace.setSpan(ROOT_CONTEXT, request), () => queue.enter?.());
  await queue.around?.(Array.from({ length: 300 }, enter), async () => {});
  await stop();
  await waitUntil('the spans', () => collector.spans.length >= 301);
  expect(collector.spans.find(({ name }) => name === 'batch')?.links).toHaveLength(299);
});
