import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import type { TestService } from '../../support/test-service.ts';
import { useTestService } from '../../support/use-test-service.ts';

const GOOD = 'https://garden.example';

const service = useTestService();
const withCors = useTestService({ CORS_ORIGINS: `${GOOD}, http://localhost:5173` });

describe('every response', () => {
  test.each<[string, () => PromiseLike<{ status: number; headers: Record<string, string> }>, number]>([
    ['a plant', () => service.post({ id: 1, name: 'Fir' }), 200],
    ['an invalid request', () => service.post('{'), 400],
    ['no token', () => service.agent.post('/plants'), 401],
    ['an unknown path', () => service.agent.get('/nothing'), 404],
    ['another method', () => service.agent.put('/plants'), 405],
    ['a health check', () => service.agent.get('/readyz'), 200],
  ])('%s: nosniff, no-store, no server name', async (_title, request, expected) => {
    const { status, headers } = await request();
    expect(status).toBe(expected);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    for (const name of ['server', 'x-powered-by', 'via']) expect(headers).not.toHaveProperty(name);
  });

  test('invalid HTTP: the same', async () => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.write('garbage\r\n\r\n');
    const [head = ''] = (await text(socket)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    expect(head).toContain('\r\nX-Content-Type-Options: nosniff');
    expect(head).toContain('\r\nCache-Control: no-store');
    expect(head).not.toMatch(/\r\n(Server|X-Powered-By|Via):/i);
  });
});

type Headers = Record<string, string>;
const corsHeaders = (headers: Headers) => Object.keys(headers).filter((name) => name.startsWith('access-control'));
const preflight = (to: TestService, origin: string, method = 'POST') =>
  to.agent.options('/plants').set({
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'authorization,content-type',
  });

describe('without CORS_ORIGINS', () => {
  test('a page from any origin: no CORS headers, and the preflight fails', async () => {
    const asked = await preflight(service, GOOD);
    expect([asked.status, corsHeaders(asked.headers)]).toEqual([204, []]);
    const sent = await service.post({ id: 2, name: 'Fir' }, { Origin: GOOD });
    expect([sent.status, corsHeaders(sent.headers)]).toEqual([200, []]);
    expect(sent.headers).not.toHaveProperty('vary');
  });
});

describe('with CORS_ORIGINS', () => {
  test.each([GOOD, 'http://localhost:5173'])('a preflight from %s, without a token: 204', async (origin) => {
    const { status, headers, text: body } = await preflight(withCors, origin);
    expect([status, body]).toEqual([204, '']);
    expect(headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'authorization,content-type',
      'access-control-max-age': '600',
      vary: 'Origin, Access-Control-Request-Headers',
    });
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('a POST that has a header of a preflight is carried out', async () => {
    const plant = { id: 4711, name: 'Fir' };
    const sent = await withCors.post(plant, { Origin: GOOD, 'Access-Control-Request-Method': 'POST' });
    expect([sent.status, sent.body]).toEqual([200, { name: 'Fir' }]);
  });

  test('a preflight may ask for any header, such as those of OpenTelemetry and Sentry', async () => {
    const asked = 'authorization,baggage,sentry-trace,x-b3-traceid';
    const { headers } = await preflight(withCors, GOOD).set('Access-Control-Request-Headers', asked);
    expect(headers['access-control-allow-headers']).toBe(asked);
  });

  test('a page can read responses and errors', async () => {
    const answers = [
      await withCors.post({ id: 1, name: 'Fir' }, { Origin: GOOD }),
      await withCors.post('{', { Origin: GOOD }),
      await withCors.agent.post('/plants').set('Origin', GOOD),
      await withCors.agent.get('/nothing').set('Origin', GOOD),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401, 404]);
    for (const { status, headers } of answers) {
      const vary = status === 200 ? 'Origin' : 'Origin, Accept';
      expect(headers).toMatchObject({ 'access-control-allow-origin': GOOD, vary });
      const exposed = (headers['access-control-expose-headers'] ?? '').split(', ');
      for (const name of [
        ...['ETag', 'Link', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'traceresponse', 'WWW-Authenticate'],
        ...['Accept', 'Accept-Encoding', 'Content-Disposition', 'Idempotent-Replayed', 'X-Request-Id'],
      ]) {
        expect(exposed).toContain(name);
      }
    }
  });

  test.each([
    'null',
    'https://garden.example.evil',
    'https://evil-garden.example',
    'https://evil.garden.example',
    'http://garden.example',
    'https://garden.example:8443',
    'https://GARDEN.example',
    'https://garden.example/',
    'https://garden.example, https://evil.example',
    'http://localhost',
    'http://localhost:51730',
    '*',
    'file://',
  ])('a page from %s: no CORS headers, so the browser refuses', async (origin) => {
    const asked = await preflight(withCors, origin);
    expect([asked.status, corsHeaders(asked.headers), asked.headers.vary]).toEqual([204, [], 'Origin']);
    const sent = await withCors.agent.post('/plants').set('Origin', origin);
    expect([sent.status, corsHeaders(sent.headers), sent.headers.vary]).toEqual([401, [], 'Origin, Accept']);
  });

  test('no Origin, as from a program: no CORS headers; OPTIONS without preflight headers lists the methods', async () => {
    const sent = await withCors.post({ id: 2, name: 'Fir' });
    expect([sent.status, corsHeaders(sent.headers), sent.headers.vary]).toEqual([200, [], 'Origin']);
    const options = await withCors.agent.options('/plants').set('Origin', GOOD);
    expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, POST, PATCH, DELETE, OPTIONS']);
  });
});
