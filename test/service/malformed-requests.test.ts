import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { patientLookUps } from '../support/test-service.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';

const service = useTestService();

/** Sends text unchanged on a new connection. @returns all that the service sends until it closes the connection */
const sendRaw = (text: string, { baseUrl }: { baseUrl: string } = service): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });

describe('requests that are not valid HTTP', () => {
  const post = (id: number) => {
    const body = `{"id":${id},"name":"Fir"}`;
    const headers = `Host: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\n`;
    return `POST /plants HTTP/1.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
  };

  test.each([
    ['no request line', 'garbage\r\n\r\n'],
    ['two lengths', 'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x'],
    [
      'a length and chunks',
      'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['obsolete folding', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n folded\r\n\r\n'],
    ['a header that is too large', `GET /livez HTTP/1.1\r\nHost: x\r\nX-A: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a target without a path', 'POST http:// HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no Host', 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('code 1006: %s', async (_title, text) => {
    const [head = '', body = ''] = (await sendRaw(text)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).toEqual({ error: 1006, message: expect.any(String) });
  });

  test.each([
    [
      'a space',
      'GET /plants?q=a b HTTP/1.1',
      /^The URL does not begin with \/, or has a character .* UTF-8: a space is %20, # is %23, ü is %C3%BC\.$/,
    ],
    ['an umlaut', 'GET /plants?q=ü HTTP/1.1', /^The URL does not begin with/],
    ['#, whose rest would be ignored', 'DELETE /plants?tag=a#1&dryRun=true HTTP/1.1', /# is %23/],
    [
      '16 KiB',
      `GET /plants?q=${'x'.repeat(20_000)} HTTP/1.1`,
      /^The header, with the URL, is larger than 16 KiB, or has more than 100 fields\.$/,
    ],
  ])('a URL with %s: the message says what to do', async (_title, line, message) => {
    const [, body = ''] = (await sendRaw(`${line}\r\nHost: x\r\n\r\n`)).split('\r\n\r\n');
    expect(JSON.parse(body)).toEqual({ error: 1006, message: expect.stringMatching(message) });
  });

  test.each([
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01', /^The client speaks TLS, .* begin the URL with http:/],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^The client speaks HTTP\/2, and this port only HTTP\/1\.1\.$/],
    ['the PROXY protocol', 'PROXY TCP4 192.0.2.1 192.0.2.2 5 80\r\nGET / HTTP/1.1\r\n\r\n', /X-Forwarded-For instead/],
    ['its second version', '\r\n\r\n\0\r\nQUIT\n!', /^A proxy sends the PROXY protocol, .* TRUST_PROXY\.$/],
  ])('a client that speaks %s: the message says what to do', async (_title, bytes, message) => {
    const [, body = ''] = (await sendRaw(bytes)).split('\r\n\r\n');
    expect(JSON.parse(body)).toEqual({ error: 1006, message: expect.stringMatching(message) });
  });

  test('code 1202: CONNECT', async () => {
    expect(await sendRaw('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 405 [\s\S]*"error":1202/);
  });

  test('ignores an unknown expectation', async () => {
    const text = await sendRaw(post(1600).replace('\r\n', '\r\nExpect: tea\r\nConnection: close\r\n'));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('gets no 100 Continue with HTTP/1.0, whose clients would take it for the response', async () => {
    const text = post(1602).replace('HTTP/1.1', 'HTTP/1.0').replace('\r\n', '\r\nExpect: 100-continue\r\n');
    expect(await sendRaw(text)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('after a valid request do not replace its response', async () => {
    expect(await sendRaw(`${post(1601)}garbage\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"name":"Fir"\}$/);
    expect((await service.stored('1601'))?.name).toBe('Fir');
  });
});

const start = useTestServices();

test('code 1203: a request that does not arrive in time', async () => {
  const impatient = await start(
    { REQUEST_TIMEOUT: '1' },
    { requestLimits: { ...patientLookUps, connectionCheckInterval: 100 } },
  );
  const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${impatient.token}\r\n`;
  const texts = [head, `${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"id"`];
  for (const answer of await Promise.all(texts.map((text) => sendRaw(text, impatient)))) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout[\s\S]*"error":1203/);
    expect(answer).toMatch(/\r\nDate: .* GMT\r\n/);
    // The rest of a body may never come.
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
  }
  // A connection that was opened in advance.
  expect(await sendRaw('', impatient)).toBe('');
  const lines = impatient.log.filter(({ error }) => error === 1203);
  expect(lines).toHaveLength(texts.length);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'request refused', status: 408, client: '127.0.0.1' }));
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'request completed', status: 408, path: '/plants' }));
});

test('a body that is not valid HTTP is refused on the port of the metrics as well, although its response is under way', async () => {
  const metered = await start({ METRICS_PORT: '0' });
  const { origin: baseUrl } = new URL(metered.metricsUrl());
  for (const path of ['/readyz', '/metrics', '/livez', '/missing'])
    expect(
      await sendRaw(`GET ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`, { baseUrl }),
    ).toMatch(/^HTTP\/1\.1 (200|400|404) /);
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
});
