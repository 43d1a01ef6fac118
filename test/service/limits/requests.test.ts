import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { parseExactJson } from '../../../src/bodies/exact-json.ts';
import { closeIfUnread } from '../../../src/http/handle-error.ts';
import { MAX_INT64, MIN_INT64 } from '../../../src/plants/plant.ts';
import { quoteValue } from '../../../src/quote-value.ts';
import { edge } from '../../support/limits/edge.ts';
import { exchangeBytes } from '../../support/raw-http.ts';
import { onCitus } from '../../support/skip.ts';
import { useTestService } from '../../support/use-test-service.ts';

const noKeys = onCitus('keys are refused');

const BODY_LIMIT = 50_000;
const service = useTestService({ BODY_LIMIT: String(BODY_LIMIT) });
/** Bodies of up to 16 KiB are decompressed at once. */
const SMALL_LIMIT = 1000;
const small = useTestService({ BODY_LIMIT: String(SMALL_LIMIT) });
beforeEach(() => service.database.query('TRUNCATE plants'));

let nextId = 1;
const get = (path: string) => service.request('get', path);
const statusOf = async (request: PromiseLike<{ status: number }>) => (await request).status;
const post = (body: string) => statusOf(service.post(body));
const wrongFrom = async (request: PromiseLike<{ body: { message: string } }>) => (await request).body.message;

describe('a header', () => {
  edge('server/http-server.ts MAX_HEADER_FIELDS', 'has at most 100 fields', {
    is: [200, 200, 400],
    of: async (count) => {
      const others = Array.from({ length: count - 2 }, (_, index) => `X-${index}: x\r\n`).join('');
      const text = `GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${others}\r\n`;
      const port = Number(new URL(service.baseUrl).port);
      return (await exchangeBytes({ port, bytes: Buffer.from(text) }))[0]?.status;
    },
  });
});

describe('a query of plants', () => {
  edge('plants/plant.ts MAX_Q_LENGTH', 'has a `q` of at most 100 characters, however many bytes they take', {
    is: [200, 200, 400],
    of: (length) => statusOf(get(`/plants?q=${encodeURIComponent('🌱'.repeat(length))}`)),
  });
  edge('plants/plant.ts MAX_IDS', 'has at most 100 ids', {
    is: [200, 200, 400],
    of: (count) => statusOf(get(`/plants?${Array.from({ length: count }, (_, id) => `id=${id}`).join('&')}`)),
  });
  edge('plants/plant.ts MAX_LIMIT', 'has a limit of at most 1000', {
    is: [200, 200, 400],
    of: (limit) => statusOf(get(`/plants?limit=${limit}`)),
  });
  edge('plants/plant.ts MAX_CHANGED', 'that changes many has a limit of at most 100,000', {
    is: [200, 200, 400],
    of: (limit) => statusOf(service.request('delete', `/plants?tag=x&limit=${limit}`)),
  });
  edge('plants/plant.ts DEFAULT_LIMIT', 'gets at most 100 plants by default, and a link if there are more', {
    is: [
      [99, false],
      [100, false],
      [100, true],
    ],
    of: async (count) => {
      await service.database.query('TRUNCATE plants');
      await service.database.query(
        `INSERT INTO plants (id, name) SELECT id, '' FROM generate_series(1, ${count}) AS id`,
      );
      const { body, headers } = await get('/plants');
      return [body.length, headers.link !== undefined];
    },
  });
  edge('plants/plant.ts {0,18}', 'has ids of at most 19 digits', {
    is: [404, 404, 400],
    of: (more) => statusOf(get(`/plants/1${'0'.repeat(more)}`)),
  });
});

describe('an id', () => {
  const outcomes = async (ids: bigint[]) =>
    Promise.all(
      ids.map(async (id) => [await statusOf(get(`/plants/${id}`)), await post(`{"id":${id},"name":""}`)].join()),
    );

  test('is at least the smallest int64 (plants/plant.ts MIN_INT64)', async () => {
    const ids = [MIN_INT64 - 1n, MIN_INT64, MIN_INT64 + 1n];
    expect(await outcomes(ids)).toEqual(['400,400', '404,200', '404,200']);
  });
  test('is at most the largest int64 (plants/plant.ts MAX_INT64)', async () => {
    const ids = [MAX_INT64 - 1n, MAX_INT64, MAX_INT64 + 1n];
    expect(await outcomes(ids)).toEqual(['404,200', '404,200', '400,400']);
  });
});

describe('a message', () => {
  edge('http/parse-request.ts MAX_NAMED', 'names at most five wrong parameters, and says how many more there are', {
    is: [false, false, true],
    of: async (count) => {
      const names = Array.from({ length: count }, (_, index) => `x${index}`);
      return (await wrongFrom(get(`/plants?${names.join('&')}`))).includes(' more ');
    },
  });
  edge('http/parse-request.ts {1,60}', 'quotes the name of a parameter that is longer than any of ours', {
    is: [false, false, true],
    of: async (length) => (await wrongFrom(get(`/plants?${'x'.repeat(length)}`))).includes('"'),
  });
  edge('http/handle-error.ts SHOWN_PATH', 'has at most 100 characters of a path', {
    is: [false, false, true],
    of: async (length) => (await wrongFrom(get(`/${'x'.repeat(length - 1)}`))).endsWith('….'),
  });
  edge('quote-value.ts MAX_LENGTH', 'has at most 60 characters of a value', {
    is: [false, false, true],
    of: (length) => quoteValue('x'.repeat(length)).includes('…'),
  });
  edge('quote-value.ts MAX_SIZE', 'has at most 150 bytes of a value', {
    is: [false, false, true],
    // In JSON, the quotes take six bytes.
    of: (size) =>
      quoteValue('木'.repeat(40) + 'x'.repeat((size - 126) % 3) + '木'.repeat((size - 126) / 3)).includes('…'),
  });
});

describe('a header', () => {
  edge('idempotency/keyed-request.ts MAX_LENGTH', 'Idempotency-Key has at most 255 characters, without its quotes', {
    obstacle: noKeys,
    is: [
      [200, 200],
      [200, 200],
      [400, 400],
    ],
    of: async (length) => {
      const send = (quote: string) => {
        const id = nextId++;
        const key = `${quote}${String(id).padEnd(length, 'x')}${quote}`;
        return statusOf(service.post({ id, name: '' }, { 'Idempotency-Key': key }));
      };
      return [await send(''), await send('"')];
    },
  });
  edge('observability/request-log.ts {1,128}', 'X-Request-Id names a request if it has at most 128 characters', {
    is: [true, true, false],
    of: async (length) => {
      const id = 'x'.repeat(length);
      return (await get('/livez').set('X-Request-Id', id)).headers['x-request-id'] === id;
    },
  });
  edge('server/client-errors.ts {1,64}', 'an unknown method is named if it has at most 64 characters', {
    is: [405, 405, 400],
    of: async (length) => {
      const bytes = Buffer.from(`${'X'.repeat(length)} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return (await exchangeBytes({ port: Number(new URL(service.baseUrl).port), bytes }))[0]?.status;
    },
  });
});

describe('a body', () => {
  const plantOf = (size: number) => {
    const start = `{"id":${nextId++},"name":"`;
    return `${start}${'x'.repeat(size - start.length - 2)}"}`;
  };
  const send = (body: Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string>) =>
    fetch(`${service.baseUrl}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json', ...headers },
      body,
      duplex: 'half',
    } as RequestInit);
  const errorOf = async (response: Promise<globalThis.Response>) =>
    ((await (await response).json()) as { error?: number }).error;

  edge('setting BODY_LIMIT', 'has at most BODY_LIMIT bytes: with a length, in chunks, decompressed', {
    value: BODY_LIMIT,
    is: [
      [undefined, undefined, undefined],
      [undefined, undefined, undefined],
      [1002, 1002, 1002],
    ],
    of: async (size) => {
      const stream = new Blob([plantOf(size)]).stream();
      return [
        await errorOf(send(new TextEncoder().encode(plantOf(size)), {})),
        await errorOf(send(stream, {})),
        await errorOf(send(new Uint8Array(gzipSync(plantOf(size))), { 'Content-Encoding': 'gzip' })),
      ];
    },
  });
  edge('setting BODY_LIMIT', 'has at most BODY_LIMIT bytes when it is decompressed, however small that is', {
    value: SMALL_LIMIT,
    is: [200, 200, 400],
    of: (size) =>
      statusOf(
        small.agent
          .post('/plants')
          .set({
            Authorization: `Bearer ${small.token}`,
            'Content-Type': 'application/json',
            'Content-Encoding': 'gzip',
          })
          .serialize((body) => body)
          .send(gzipSync(plantOf(size)) as unknown as string),
      ),
  });
  edge('bodies/read-json-body.ts COMPRESSION_OVERHEAD', 'may be 1 KiB longer before it is decompressed', {
    // Code 1000: this is not gzip.
    is: [1000, 1000, 1002],
    of: (more) => errorOf(send(new Uint8Array(BODY_LIMIT + more), { 'Content-Encoding': 'gzip' })),
  });
  edge('bodies/exact-json.ts MAX_DEPTH', 'has at most 100 levels', {
    is: [200, 200, 400],
    of: (depth) => post(`{"id":${nextId++},"name":"","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`),
  });
  edge('bodies/exact-json.ts MAX_SEPARATORS', 'has at most 20,000 commas and opening brackets', {
    is: [200, 200, 400],
    // Beside those of the array: two brackets and two commas.
    of: (count) => post(`{"id":${nextId++},"name":"","x":[${'0'.padEnd(2 * (count - 4) + 1, ',0')}]}`),
  });
  edge('bodies/exact-json.ts INT64_DIGITS', 'has an exact id of at most 19 digits', {
    is: ['bigint', 'bigint', 'object'],
    of: (digits) => typeof (parseExactJson(`{"id":1${'0'.repeat(digits - 1)}}`) as { id: unknown }).id,
  });
  edge('http/handle-error.ts MAX_DISCARDED', 'that nobody reads closes the connection if it is larger than 64 KiB', {
    is: [false, false, true],
    of: (size) => {
      const request = { headers: { 'content-length': String(size) }, complete: false, isPaused: () => false };
      const headers = new Map<string, string>();
      const response = { setHeader: headers.set.bind(headers) };
      closeIfUnread(request as unknown as Request, response as unknown as Response);
      return headers.has('Connection');
    },
  });
});

edge('sql idempotency_keys_answer_check', 'the response of a change with an Idempotency-Key is kept up to 64 KiB', {
  obstacle: noKeys,
  is: [200, 200, 400],
  of: async (size) => {
    const id = nextId++;
    const name = 'x'.repeat(size - '{"name" : "", "tag" : null}'.length);
    await service.database.query(`INSERT INTO plants VALUES (${id}, '${name}', NULL)`);
    const patch = service.request('patch', `/plants/${id}`).set('Idempotency-Key', `answer-${id}`);
    return statusOf(patch.set('Content-Type', 'application/merge-patch+json').send('{"tag":null}'));
  },
});
