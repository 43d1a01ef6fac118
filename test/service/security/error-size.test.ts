import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { propertyRuns } from '../../support/property-runs.ts';
import { exchangeBytes } from '../../support/raw-http.ts';
import { useTestService } from '../../support/use-test-service.ts';
import { waitUntil } from '../../support/wait-until.ts';

const MAX_SIZE = 2048;
/** What Node.js accepts as a header, less the fields that each request here has. */
const HEADER = 15_500;

const SETTINGS = { REQUEST_TIMEOUT: '60', BASE_PATH: '/a/base/path' };
const service = useTestService(SETTINGS);
const PLANT = "INSERT INTO plants (id, name) VALUES (1, repeat('x', 15000))";
beforeAll(() => service.database.query(PLANT));

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const port = ({ baseUrl } = service) => Number(new URL(baseUrl).port);

type Hostile = {
  method?: string;
  path: string;
  fields?: string[];
  body?: string | Buffer;
  type?: string;
  token?: string;
};

const toBytes = (
  { token = service.token, method = 'GET', path, fields = [], body = '', type = 'application/json' }: Hostile,
  last = true,
) => {
  const lines = [
    `${method} ${path.startsWith('/') ? `/a/base/path${path}` : path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(last ? ['Connection: close'] : []),
    ...fields,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
};

const answersTo = async (request: Hostile) => {
  const variants = ['application/json', 'application/problem+json'].map((accept) => ({
    ...request,
    fields: [`Accept: ${accept}`, ...(request.fields ?? [])],
  }));
  const answers = await Promise.all(
    variants.map((variant) => exchangeBytes({ port: port(), bytes: toBytes(variant) })),
  );
  return answers.flat();
};

/** Parameters with different names, each `unit` and a number. */
const unknown = (unit: string) => {
  let query = '';
  for (let count = 0; query.length < HEADER; count++) query += `&${unit}${count.toString(36)}`;
  return query.slice(1, HEADER);
};
const fill = (unit: string, length = HEADER) => unit.repeat(Math.floor(length / unit.length));
const wrongText = (unit: string) => `"${fill(unit, 100_000)}"`;
const post = (body = '{"id":2,"name":"Fir"}'): Hostile => ({ method: 'POST', path: '/plants', body });

test.each<[string, number, Hostile]>([
  ['unknown parameters', 1005, { path: `/plants?${unknown('')}` }],
  ['unknown parameters of one plant', 1005, { path: `/plants/1?${unknown('')}` }],
  ['unknown parameters of an export', 1005, { path: `/plants/export?${unknown('')}` }],
  ['unknown parameters of an import', 1005, { method: 'POST', path: `/plants/import?${unknown('')}` }],
  ['unknown parameters whose characters are escaped', 1005, { path: `/plants?${unknown(fill('%00', 180))}` }],
  ['unknown parameters of quotes', 1005, { path: `/plants?${unknown(fill('%22', 180))}` }],
  ['unknown parameters of four bytes a character', 1005, { path: `/plants?${unknown(fill('%F0%9F%8C%B2', 720))}` }],
  ['one long unknown parameter', 1005, { path: `/plants?${fill('%00')}` }],
  ['wrong ids', 1005, { path: `/plants?${fill('id=x&')}` }],
  ['long wrong ids', 1005, { path: `/plants?${fill(`id=${'%00'.repeat(100)}&`)}` }],
  ['too many ids', 1005, { path: `/plants?${fill('id=1&')}` }],
  [
    'all parameters wrong',
    1005,
    {
      path: `/plants?${['id', 'limit', 'cursor', 'tag', 'q'].map((name) => `${name}=${fill('%00', 3000)}`).join('&')}`,
    },
  ],
  ['a long wrong id in the path', 1005, { path: `/plants/${fill('%01')}` }],
  ['a long id', 1005, { path: `/plants/${fill('9')}` }],
  ['a long unknown path', 1200, { path: `/${fill('"')}` }],
  ['an unknown path of escapes', 1200, { path: `/${fill('%00')}` }],
  ['a path that is not UTF-8', 1005, { path: `/plants/${fill('%ff')}` }],
  ['an absolute path', 1200, { path: `http://x/${fill("'")}` }],
  ['a method that is not allowed', 1202, { method: 'DELETE', path: `/plants/export?${fill('x')}` }],
  ['an unknown method', 1202, { method: fill('X', 64), path: '/plants' }],
  ['a long Idempotency-Key', 1300, { ...post(), fields: [`Idempotency-Key: "${fill('\\"')}`] }],
  ['many Idempotency-Keys', 1300, { ...post(), fields: Array(90).fill('Idempotency-Key: \xff') }],
  ['a long media type', 1001, { ...post(), type: `application/${fill('x')}` }],
  ['a long charset', 1001, { ...post(), type: `application/json; charset="${fill('\\"')}"` }],
  ['a long encoding', 1001, { ...post(), fields: [`Content-Encoding: ${fill('x')}`] }],
  ['a long Host', 1006, { path: '/plants', fields: [`Host: ${fill('x')}`] }],
  ['a long token', 1101, { path: '/plants', token: fill('x') }],
  [
    'all fields wrong',
    1003,
    post(`{"id":${wrongText('\\u0000')},"name":${wrongText('\\u0000')},"tag":${wrongText('\\u0000')}}`),
  ],
  [
    'all fields wrong, of quotes',
    1003,
    post(`{"id":${wrongText('\\"')},"name":${wrongText('\\"\\u0000')},"tag":${wrongText('\\ud800')}}`),
  ],
  [
    'two problems in each field',
    1003,
    post(`{"id":[],"name":${wrongText('\\ud800\\u0000')},"tag":${wrongText('\\ud800\\u0000')}}`),
  ],
  ['a body that is another text', 1003, post(wrongText('🌲'))],
  ['a body that is not JSON', 1000, post(fill('\u0001', 100_000))],
  ['a body with an invalid escape', 1000, post(`"${fill('x', 100_000)}\\🌲"`)],
  ['a long number', 1003, post(`{"id":${fill('9', 100_000)},"name":${fill('1', 100_000)}}`)],
  [
    'a patch',
    1003,
    { method: 'PATCH', path: '/plants/1', body: `{"name":${wrongText('\\u0000')},"tag":${wrongText('\\u0000')}}` },
  ],
  [
    'a header row',
    1003,
    { method: 'POST', path: '/plants/import', type: 'text/csv', body: `${fill('\u0001,', 900)}\n` },
  ],
  [
    'a first line sep=',
    1003,
    { method: 'POST', path: '/plants/import', type: 'text/csv', body: 'sep=\u0001\nid,name\n' },
  ],
])('the error for %s is small', async (_title, code, request) => {
  const bodies = (await answersTo(request)).map(({ body }) => body);
  expect(bodies).toHaveLength(2);
  for (const body of bodies) {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_SIZE);
    expect(JSON.parse(body).error ?? JSON.parse(body).code).toBe(code);
  }
});

test('an error names the first wrong parameters and how many more there are', async () => {
  const { body } = await service.request('get', '/a/base/path/plants?a&b&c&d&e&f&limit=0');
  expect(body).toEqual({
    error: 1005,
    message:
      'The parameter limit must be an integer from 1 to 1000, not "0". The parameter a is not known. The parameter b is not known. ' +
      'The parameter c is not known. The parameter d is not known. 2 more parameters are wrong.',
  });
  const ids = await service.request('get', `/a/base/path/plants?${'id=x&'.repeat(6)}`);
  expect(ids.body.message).toMatch(/^The parameter id must be [^.]*, not "x"\.$/);
});

const escaped = fc.constantFrom(
  '%00',
  '%22',
  '%5C',
  '%F0%9F%8C%B2',
  '%E2%80%A8',
  '%ff',
  'x',
  '9',
  '=',
  '&',
  '&id=',
  '&tag=',
);
const text = fc.array(escaped, { minLength: 1, maxLength: 9 }).map((units) => fill(units.join('')));
const json = fc
  .array(
    fc.constantFrom('\\u0000', '\\"', '\\ud800', '🌲', '\u2028', '\\', '"', '[', '{"id":', ',"name":"', '9', '\u0001'),
    { minLength: 1, maxLength: 9 },
  )
  .map((units) => fill(units.join(''), 50_000));
const hostile: fc.Arbitrary<Hostile> = fc.oneof(
  text.map((query) => ({ path: `/plants?${query}` })),
  text.map((query) => ({ path: `/plants/export?${query}` })),
  text.map((path) => ({ path: `/${path}` })),
  text.map((path) => ({ path: `/plants/${path}` })),
  fc
    .tuple(
      fc.constantFrom(
        'Idempotency-Key',
        'If-Match',
        'Content-Encoding',
        'Content-Type',
        'Host',
        'X-Request-Id',
        'Origin',
      ),
      text,
    )
    .map(([name, value]) => ({ ...post(), fields: [`${name}: ${value}`] })),
  json.map(post),
  json.map((body) => post(`{"id":"${body}","name":"${body}\\u0000","tag":"${body}\\u0000"}`)),
  json.map((body) => ({ method: 'PATCH', path: '/plants/1', body })),
  json.map((body) => ({ method: 'POST', path: '/plants/import?maxErrors=0', type: 'application/x-ndjson', body })),
  json.map((body) => ({ method: 'POST', path: '/plants/import?maxErrors=0', type: 'text/csv', body })),
);

test('the error for any request is small', async () => {
  const check = async (request: Hostile) => {
    for (const { status, body } of await answersTo(request))
      if (status >= 400) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_SIZE);
  };
  await fc.assert(fc.asyncProperty(hostile, check), { numRuns: propertyRuns(400) });
});

describe('a response that its client does not read counts towards the budget', () => {
  // Only the budget ends a response.
  const tight = useTestService({ ...SETTINGS, REQUEST_TIMEOUT: '3600' }, { requestLimits: { heldBytes: 2000 } });
  beforeAll(() => tight.database.query(PLANT));
  const wrong = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}${fill('%22', 180)}`).join('&');
  const plant: Hostile = { path: '/plants/1' };
  /** Whose errors take 20 kB. */
  const WRONG_ROWS = '{}\n'.repeat(200);

  const connectUnread = async () => {
    const socket = connect(port(tight), '127.0.0.1').pause();
    socket.on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  const ended = { completed: 0, aborted: 0 };
  /** Takes the lines from the log, which gets hundreds of them. */
  const takeLog = () => {
    for (const { msg } of tight.log.splice(0)) {
      if (msg === 'request completed') ended.completed += 1;
      if (msg === 'request aborted') ended.aborted += 1;
    }
    return ended;
  };
  /** Sends a request again and again, one after another, until the system buffers no more. @returns how often */
  const sendUntilUnsent = async (socket: Socket, request: Hostile, limit = Number.POSITIVE_INFINITY) => {
    const bytes = toBytes({ ...request, token: tight.token }, false);
    for (let count = 0; count < limit; count++) {
      const { completed, aborted } = { ...takeLog() };
      const unsent = tight.inUse().responseBytes;
      socket.write(bytes);
      while (takeLog().completed === completed) {
        if (ended.aborted > aborted || tight.inUse().responseBytes > unsent) return count;
        await setImmediate();
      }
    }
    return limit;
  };

  test.each<[string, Hostile]>([
    ['an error', { path: `/plants?${wrong}` }],
    ['problem details', { path: `/plants/export?${wrong}`, fields: ['Accept: application/problem+json'] }],
    ['a plant of less than 16 KiB', plant],
    [
      'the summary of an import',
      { method: 'POST', path: '/plants/import', body: WRONG_ROWS, type: 'application/x-ndjson' },
    ],
  ])('%s', async (_title, request) => {
    Object.assign(ended, { completed: 0, aborted: 0 });
    tight.log.splice(0);
    // A plant of which nothing is sent exceeds the budget, but the newest response of a client stays.
    const plants = await sendUntilUnsent(await connectUnread(), plant);
    expect([plants > 4, takeLog().aborted]).toEqual([true, 0]);
    // The buffers of this connection are nearly full when the responses in question begin.
    const socket = await connectUnread();
    await sendUntilUnsent(socket, plant, Math.floor(plants * 0.9));
    expect(takeLog().aborted).toBe(0);
    await sendUntilUnsent(socket, request);
    await waitUntil('the end of a response', () => takeLog().aborted > 0);
    for (const open of sockets) open.destroy();
    expect((await tight.request('get', '/a/base/path/plants/1')).status).toBe(200);
  });
});
