import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { startCollector } from '../support/collector.ts';
import type { TestService } from '../support/test-service.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const CLIENT_TRACE = '0af7651916cd43dd8448eb211c80319c';
const SAMPLED = `00-${CLIENT_TRACE}-b7ad6b7169203331-01`;
const NOT_SAMPLED = `00-${CLIENT_TRACE}-b7ad6b7169203331-00`;

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

/** Stops the service, which then sends its spans. It waits for a limited time, in which a busy machine may not have sent them. */
const sent = async (count: number) => {
  await service.stopServer();
  await waitUntil('the spans', () => collector.spans.length >= count);
  return collector.spans;
};

test('OpenTelemetry reads its standard variables', async () => {
  const variables = {
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector',
    OTEL_SERVICE_NAME: 'plants-of-the-north',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
  };
  Object.assign(process.env, variables);
  try {
    await start();
    await service.agent.get('/livez');
    const spans = await sent(1);
    expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { authorization: 'Bearer collector' } });
    expect(spans.find(({ name }) => name === 'GET /livez')?.resource).toMatchObject({
      'service.name': 'plants-of-the-north',
      'service.version': '1.0.0',
      'service.instance.id': expect.any(String),
      'deployment.environment.name': 'staging',
      'telemetry.sdk.language': 'nodejs',
    });
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
});

test('a variable whose value OpenTelemetry ignores is in the log', async () => {
  process.env.OTEL_EXPORTER_OTLP_COMPRESSION = 'zstd';
  try {
    await start();
  } finally {
    delete process.env.OTEL_EXPORTER_OTLP_COMPRESSION;
  }
  expect(service.log).toContainEqual(
    expect.objectContaining({ level: 'warn', message: expect.stringContaining('OTEL_EXPORTER_OTLP_COMPRESSION') }),
  );
});

test('a collector that cannot be reached is in the log', async () => {
  await start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` });
  await service.agent.get('/livez');
  await service.stopServer();
  await waitUntil('a line', () => service.log.some(({ msg }) => msg === 'failed to send traces'));
});

test('a collector that refuses is in the log, without what it says', async () => {
  await start();
  Object.assign(collector.response, { status: 400, body: 'authorization: key '.repeat(10_000) });
  await service.agent.get('/livez');
  await service.stopServer();
  const lines = () => service.log.filter(({ msg }) => msg === 'failed to send traces');
  await waitUntil('a line', () => lines().length > 0);
  expect(lines()).toEqual([expect.objectContaining({ err: expect.objectContaining({ code: 400 }) })]);
  expect(JSON.stringify(service.log)).not.toContain('authorization');
});

describe('sampling', () => {
  test('follows the client by default', async () => {
    await start();
    const response = await service.post({ id: 1, name: 'Fir' }, { traceparent: NOT_SAMPLED, 'X-Request-Id': 'quiet' });
    expect(response.headers.traceresponse).toMatch(new RegExp(`^00-${CLIENT_TRACE}-[0-9a-f]{16}-00$`));
    expect(service.log.find(({ requestId }) => requestId === 'quiet')?.traceId).toBe(CLIENT_TRACE);
    expect(await sent(0)).toEqual([]);
  });

  test.each([
    ['always_on', '', NOT_SAMPLED, true],
    ['always_off', '', SAMPLED, false],
    ['parentbased_always_off', '', SAMPLED, true],
    ['traceidratio', '0', SAMPLED, false],
    ['traceidratio', '1', NOT_SAMPLED, true],
    ['parentbased_traceidratio', '0', SAMPLED, true],
    ['parentbased_traceidratio', '0', '', false],
    ['xray', 'endpoint=http://localhost:2000', NOT_SAMPLED, false],
    ['xray', 'endpoint=http://localhost:2000', SAMPLED, true],
    ['traceidratio', '50%', NOT_SAMPLED, true],
    ['traceidratio', '1.0', NOT_SAMPLED, true],
  ])(
    'OTEL_TRACES_SAMPLER=%s OTEL_TRACES_SAMPLER_ARG=%s with the client header %j: %s',
    async (sampler, ratio, header, is) => {
      await start({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio });
      await service.agent.get('/livez').set('traceparent', header);
      expect((await sent(is ? 1 : 0)).map(({ name }) => name)).toEqual(is ? ['GET /livez'] : []);
    },
  );
});

test.each([
  ['xray', 'endpoint=x', ['OTEL_TRACES_SAMPLER is not supported; parentbased_always_on is used']],
  ['traceidratio', '1.1', ['OTEL_TRACES_SAMPLER_ARG is not a fraction, 0 to 1; 1 is used']],
  ['parentbased_traceidratio', '.5', []],
  ['always_on', '50%', []],
  ['Always_Off', '1', []],
])('the sampler %s with %s: a warning if the service does not know it', async (sampler, argument, warnings) => {
  await start({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument });
  expect(service.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual(warnings);
});

test('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it is, in place of the endpoint of all signals', async () => {
  await start({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.endpoint}/own/path`,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x',
  });
  await service.agent.get('/livez');
  await sent(1);
  expect(collector.requests[0]).toMatchObject({ path: '/own/path' });
});

test.each(['true', 'TRUE'])('OTEL_SDK_DISABLED=%s: no traces', async (value) => {
  await start({ OTEL_SDK_DISABLED: value });
  expect((await service.agent.get('/livez')).headers).not.toHaveProperty('traceresponse');
});

test.each([
  ['none', 'without traceresponse', []],
  ['OTLP', 'with traceresponse', []],
  ['console', 'with traceresponse', ['OTEL_TRACES_EXPORTER is not supported; otlp is used']],
])('OTEL_TRACES_EXPORTER=%s: %s', async (exporter, expected, warnings) => {
  await start({ OTEL_TRACES_EXPORTER: exporter });
  const { headers } = await service.agent.get('/livez');
  expect(`${'traceresponse' in headers ? 'with' : 'without'} traceresponse`).toBe(expected);
  expect(service.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual(warnings);
});

test.each([
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 1],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' }, 0],
])('another protocol than http/protobuf is a warning: %j', async (environment, count) => {
  await start(environment);
  const warnings = service.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
  expect(warnings).toEqual(Array(count).fill('OTEL_EXPORTER_OTLP_PROTOCOL is not supported; http/protobuf is used'));
});

test('a collector that does not respond does not delay the end of the service', async () => {
  await collector.stop();
  collector = await startCollector({ answers: false });
  await start();
  await service.agent.get('/livez');
  const stoppedAt = performance.now();
  await service.stopServer();
  expect(collector.requests).toHaveLength(1);
  // Its exporter gives up after 10 s.
  expect(performance.now() - stoppedAt).toBeLessThan(5000);
});

test('without OTEL_EXPORTER_OTLP_ENDPOINT there are no traces, and no trace ids in responses and log lines', async () => {
  service = await startService();
  const response = await service.post({ id: 1, name: 'Fir' }, { traceparent: SAMPLED, 'X-Request-Id': 'plain' });
  expect(response.headers).not.toHaveProperty('traceresponse');
  expect(service.log.find(({ requestId }) => requestId === 'plain')).not.toHaveProperty('traceId');
});
