import { randomBytes } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();

/** Sends a body unchanged to `POST /plants`. */
const postBytes = async (body: string | Uint8Array<ArrayBuffer> | undefined, headers: Record<string, string>) => {
  const response = await fetch(`${service.baseUrl}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.token}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
};

const json = { 'Content-Type': 'application/json' };
const plant = (id: number) => Buffer.from(`{"id":${id},"name":"Fir"}`);

describe('code 1000: the body is not JSON or not UTF-8', () => {
  test.each([
    ['an empty body', ''],
    ['not JSON', 'id=1'],
    ['incomplete JSON', '{"id":1,"name":"Fir"'],
    ['text after the JSON', '{"id":1,"name":"Fir"} x'],
    ['a number with a leading zero', '{"id":01,"name":"Fir"}'],
    ['NaN', '{"id":NaN,"name":"Fir"}'],
  ])('%s', async (_title, body) => {
    const response = await postBytes(body, json);
    expect(response.status).toBe(400);
    expect(response.body.error).toBe(1000);
  });

  test.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['UTF-16', [0xff, 0xfe]],
  ])('%s', async (_title, bytes) => {
    const body = Buffer.concat([Buffer.from('{"id":1,"name":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect((await postBytes(body, json)).body.error).toBe(1000);
  });

  test('a body that claims to be compressed but is not', async () => {
    expect((await postBytes(plant(1), { ...json, 'Content-Encoding': 'gzip' })).body.error).toBe(1000);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('data after the compressed data (%s)', async (encoding, compress) => {
    const body = Buffer.concat([compress(plant(1)), Buffer.alloc(4)]);
    expect((await postBytes(body, { ...json, 'Content-Encoding': encoding })).body).toEqual({
      error: 1000,
      message: 'The body could not be decompressed: there is data after the compressed data.',
    });
  });

  test('but the service ignores a leading byte order mark', async () => {
    const response = await postBytes(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plant(1000)]), json);
    expect(response.status).toBe(200);
  });
});

describe('code 1002: a body with too many values, or nested too deeply', () => {
  const nested = (depth: number) => `{"id":1001,"name":"Fir","x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const wide = (values: number) => `{"id":1002,"name":"Fir","x":[${Array(values).fill('{}').join()}]}`;

  test.each([
    ['nested 500,000 levels deep', nested(500_000)],
    ['nested and never closed', '['.repeat(520_000)],
    ['with 10,000 objects', wide(10_000)],
    ['with 340,000 objects', wide(340_000)],
  ])('%s', async (_title, body) => {
    expect(await postBytes(body, json)).toMatchObject({ status: 400, body: { error: 1002 } });
  });
});

test('accepts a body compressed as x-gzip', async () => {
  const response = await postBytes(gzipSync(plant(1003)), { ...json, 'Content-Encoding': 'x-gzip' });
  expect(response.status).toBe(200);
});

describe('code 1001: the content type or encoding is not supported', () => {
  test.each([
    'text/plain',
    'application/json; charset=latin1',
    'application/json; charset=utf-16le',
    'application/json; charset=ascii',
    'application/json; charset=',
    'application/jsonp',
    'json',
    'application/merge-patch+json',
  ])('%s', async (type) => {
    const response = await postBytes(plant(1), { 'Content-Type': type });
    expect(response.status).toBe(400);
    expect(response.body.error).toBe(1001);
    if (!type.includes(';'))
      expect(response.body.message).toBe(`The Content-Type must be application/json, not "${type}".`);
  });

  test('no content type at all', async () => {
    const { error, message } = (await postBytes(plant(1), {})).body;
    expect([error, message]).toEqual([1001, 'The Content-Type must be application/json, and there is none.']);
    expect((await postBytes(undefined, {})).body.error).toBe(1001);
  });

  test.each(['compress', 'gzip, br', 'x', 'constructor', '__proto__'])('Content-Encoding: %s', async (encoding) => {
    const { body, headers } = await postBytes(plant(1), { ...json, 'Content-Encoding': encoding });
    expect([body.error, headers.get('accept-encoding')]).toEqual([1001, 'gzip, deflate, br']);
  });

  test.each(['', ', identity', 'gzip,', ' ,gzip'])(
    'but not empty members of Content-Encoding: %j',
    async (encoding) => {
      const body = encoding.includes('gzip') ? gzipSync(plant(1005)) : plant(1005);
      await service.database.query('DELETE FROM plants WHERE id = 1005');
      expect((await postBytes(body, { ...json, 'Content-Encoding': encoding })).status).toBe(200);
    },
  );

  test.each([
    'Application/JSON',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"; x=y',
    'application/json; charset=utf8',
    'application/json; charset=unicode-1-1-utf-8',
    'application/json; charset=US-ASCII',
  ])('but %s is supported', async (type) => {
    await service.database.query('DELETE FROM plants WHERE id = 1100');
    expect((await postBytes(plant(1100), { 'Content-Type': type })).status).toBe(200);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', (bytes: Buffer) => bytes],
  ])('Content-Encoding: %s is supported', async (encoding, compress) => {
    await service.database.query('DELETE FROM plants WHERE id = 1101');
    const response = await postBytes(new Uint8Array(compress(plant(1101))), { ...json, 'Content-Encoding': encoding });
    expect(response.status).toBe(200);
  });
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
])('small bodies are as welcome compressed, 500 at once: %s', async (encoding, compress) => {
  await service.database.query('TRUNCATE plants');
  const statuses = await Promise.all(
    Array.from({ length: 500 }, async (_, id) => {
      const body = new Uint8Array(compress(plant(id)));
      return (await postBytes(body, { ...json, 'Content-Encoding': encoding })).status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
});

describe('code 1002: the body is too large', () => {
  const tooLarge = Buffer.alloc(5_000_000, ' ');

  test('according to its Content-Length', async () => {
    const response = await postBytes(tooLarge, json);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({ error: 1002, message: 'The body must be at most 1048576 bytes.' });
    expect(response.headers.get('connection')).toBe('close');
  });

  test('but compression may make a body of exactly BODY_LIMIT bytes longer', async () => {
    const shell = '{"id":1102,"name":""}';
    const name = randomBytes(786_432)
      .toString('base64')
      .slice(0, 1_048_576 - shell.length);
    const body = Buffer.from(shell.replace('""', `"${name}"`));
    const stored = new Uint8Array(gzipSync(body, { level: 0 }));
    expect([body.length, stored.length > 1_048_576]).toEqual([1_048_576, true]);
    expect((await postBytes(stored, { ...json, 'Content-Encoding': 'gzip' })).status).toBe(200);
  });

  test('after decompression, although only a few kilobytes were sent', async () => {
    const bomb = new Uint8Array(gzipSync(tooLarge));
    expect(bomb.length).toBeLessThan(10_000);
    expect((await postBytes(bomb, { ...json, 'Content-Encoding': 'gzip' })).body.error).toBe(1002);
  });

  test('without a Content-Length', async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const init = {
      method: 'POST',
      headers: { ...json, Authorization: `Bearer ${service.token}` },
      body: endless,
      duplex: 'half',
    };
    const response = await fetch(`${service.baseUrl}/plants`, init as RequestInit);
    expect(await response.json()).toMatchObject({ error: 1002 });
    expect(sent).toBeLessThan(50_000_000);
  });
});

describe('code 1003: a field is missing or invalid', () => {
  test('the message names every invalid field', async () => {
    const response = await service.post({ name: 5, tag: null });
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: 1003,
      message: 'id is required; name must be a string, not 5; tag must be a string, not null.',
    });
  });

  test.each([
    ['[]', 'an array of 0 values'],
    ['"plant"', '"plant"'],
    ['1', '1'],
    ['null', 'null'],
    ['true', 'true'],
    ['[{"id":1,"name":"Fir"}]', 'an array of 1 values'],
  ])('the body %s is not an object', async (body, shown) => {
    expect((await service.post(body)).body).toEqual({
      error: 1003,
      message: `The body must be a JSON object, not ${shown}.`,
    });
  });

  test('a wrong value is quoted, but a long one is copied neither to the response nor to the log', async () => {
    const long = 'x'.repeat(1_000_000);
    for (const response of [
      await service.post({ id: long, name: 'Fir' }),
      await service.request('put', '/plants/1').send({ name: `${long}\0` }),
      await service.request('patch', '/plants/1').set('Content-Type', 'application/json').send(JSON.stringify(long)),
    ]) {
      expect([response.status, response.body.error]).toEqual([400, 1003]);
      expect(response.body.message).toContain(`"${'x'.repeat(60)}"… (`);
      expect(response.text.length).toBeLessThan(300);
    }
    expect(JSON.stringify(service.log).includes('x'.repeat(61))).toBe(false);
  });

  test.each([
    ['U+0000', '\\u0000'],
    ['an unpaired high surrogate', '\\ud800'],
    ['an unpaired low surrogate', 'x\\udc00'],
    ['surrogates in the wrong order', '\\udc00\\ud800'],
  ])('a name or tag with %s, which cannot be stored', async (_title, text) => {
    const response = await service.post(`{"id":1300,"name":"${text}","tag":"${text}"}`);
    expect(response.body).toEqual({
      error: 1003,
      message: expect.stringMatching(/^name must be text .*, not .+; tag must be text /),
    });
    expect(await service.stored('1300')).toBeUndefined();
  });

  test('a field that only the prototype has is missing', async () => {
    expect((await service.post('{"__proto__":{"id":1,"name":"Fir"}}')).body.error).toBe(1003);
    expect((await service.post('{"id":1,"constructor":{"name":"Fir"}}')).body.message).toBe('name is required.');
  });
});

test('every Error has a code and a message, and no header names the server software', async () => {
  const responses = [await service.post('x'), await service.agent.get('/x'), await service.agent.post('/plants')];
  for (const { body, headers } of responses) {
    expect(body).toEqual({ error: expect.any(Number), message: expect.any(String) });
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers).not.toHaveProperty('server');
  }
});
