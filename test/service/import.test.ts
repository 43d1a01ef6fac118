import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Config, readConfig } from '../../src/config/config.ts';
import { limitRequests } from '../../src/request-limits.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { lockPlants } from '../support/lock-plants.ts';
import { blockedStatements, terminateBlocked, waitForBlocked } from '../support/lock-table.ts';
import { exchangeBytes } from '../support/raw-http.ts';
import { scrape } from '../support/scrape.ts';
import { onCitus, testUnless } from '../support/skip.ts';
import { patientLookUps, type TestService } from '../support/test-service.ts';
import { useTestService, useTestServices } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

/** In ms. Longer than anything takes on a busy machine. */
const PATIENCE = 40_000;
const shared = useTestService({ REQUEST_TIMEOUT: `${PATIENCE}ms` });
const noIndex = onCitus('no other unique index is possible');
const startService = useTestServices();
let service: TestService;
beforeEach(async () => {
  service = shared;
  service.log.splice(0);
  await service.database.query('TRUNCATE plants');
});

/** Starts a service of its own for a test that needs settings or stops it, or that looks at its connections or tables. */
const start = async (environment: Record<string, string> = {}, settings: Partial<Config> = {}) => {
  const requestLimits = { ...patientLookUps, connectionCheckInterval: 100 };
  service = await startService(environment, { requestLimits, settings });
};

const NDJSON = 'application/x-ndjson';
const GZIP = { 'Content-Encoding': 'gzip' };
type Body = { created: number; replaced: number; skipped: number; failed: number; errors: object[] };

type Import = { query?: string; type?: string; headers?: Record<string, string>; token?: string };

const importPlants = async (body: string | Buffer, { query = '', type = NDJSON, headers = {} }: Import = {}) => {
  const response = await fetch(`${service.baseUrl}/plants/import${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': type, ...headers },
    body: body as string,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Body };
};

const lines = (...rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `{"id":${from + index},"name":"Fir ${from + index}"}\n`).join('');
const counts = (created = 0, replaced = 0, skipped = 0, failed = 0) => ({ created, replaced, skipped, failed });
const stored = async () =>
  (await service.database.query('SELECT id, name, tag FROM plants ORDER BY id')).map(({ id, name, tag }) => [
    id,
    name,
    tag,
  ]);
const count = async () => Number((await service.database.query('SELECT count(*) FROM plants'))[0]?.count);

/** A request whose body the test writes in pieces. */
const openImport = (query = '', headers: Record<string, string> = {}) => {
  const request = httpRequest(`${service.baseUrl}/plants/import${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': NDJSON, ...headers },
  });
  request.on('error', () => {});
  // Listens now, because the response may arrive before the test awaits it.
  const responded = once(request, 'response');
  responded.catch(() => {});
  return Object.assign(request, { responded });
};

/** The headers of another token, because one has at most half of the slots. */
const asOther = async () => ({
  Authorization: `Bearer ${await service.tokens.create({ name: crypto.randomUUID(), scopes: SCOPES, expiresAt: null })}`,
});

const answerOf = async (request: ClientRequest & { responded?: Promise<unknown[]> }) => {
  const [response] = (await (request.responded ?? once(request, 'response'))) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode as number, body: JSON.parse(text) };
};

const metrics = () => {
  const line = service.log.find(({ msg }) => msg === 'metrics are served');
  return scrape(`http://${line?.host}:${line?.port}/metrics`);
};
const ended = () => service.log.find(({ msg }) => msg === 'import ended');

describe('the body', () => {
  test('may be NDJSON; blank lines are ignored', async () => {
    const { status, text } = await importPlants(
      '{"id":9223372036854775807,"name":"Fir","tag":"Abies"}\n\n \t\r\n{"id":-9223372036854775808,"name":""}',
    );
    expect([status, text]).toEqual([200, '{"created":2,"replaced":0,"skipped":0,"failed":0,"errors":[]}']);
    expect(await stored()).toEqual([
      ['-9223372036854775808', '', null],
      ['9223372036854775807', 'Fir', 'Abies'],
    ]);
  });

  test('may be CSV, with or without tags', async () => {
    const type = 'text/csv; charset=UTF-8';
    const csv = '\ufeffname,tag,more,id\r\n"Fir, ""white""",Abies,x,1\r\n\r\nYew,,y,2\r\nOak,"",z,9007199254740993\r\n';
    expect(await importPlants(csv, { type })).toMatchObject({ status: 200, body: counts(3) });
    expect(await importPlants('id,name\n3,Elm', { type })).toMatchObject({ status: 200, body: counts(1) });
    expect(await stored()).toEqual([
      ['1', 'Fir, "white"', 'Abies'],
      ['2', 'Yew', null],
      ['3', 'Elm', null],
      ['9007199254740993', 'Oak', ''],
    ]);
  });

  test('may be a JSON array with exact ids, even with more commas than other bodies may have', async () => {
    const rows = Array.from(
      { length: 25_000 },
      (_, index) => `{"id":${9223372036854750000n + BigInt(index)},"name":""}`,
    );
    const { status, body } = await importPlants(` [${rows.join(',\n')}]\n`, { type: 'application/json' });
    expect([status, body]).toMatchObject([200, counts(25_000)]);
    const [range] = await service.database.query('SELECT min(id), max(id) FROM plants');
    expect(range).toEqual({ min: '9223372036854750000', max: '9223372036854774999' });
  });

  test.each([
    '{"id":1,"name":"Fir"}',
    '[{"id":1,"name":"Fir"},]',
    '[{"id":1,"name":"Fir"}',
    '',
    '[]]',
    '[{"id":1]}',
    '"["',
  ])('that is not a JSON array: %j → 400, code 1000, and nothing is stored', async (text) => {
    const { status, body } = await importPlants(text, { type: 'application/json' });
    expect([status, body]).toMatchObject([400, { error: 1000, message: expect.any(String) }]);
    expect(await count()).toBe(0);
  });

  test('that is an array has the numbers of its elements as lines', async () => {
    const { body } = await importPlants('[{"id":1,"name":"Fir"},2,{"id":3}]', { type: 'application/json' });
    expect(body).toEqual({
      ...counts(1, 0, 0, 2),
      errors: [
        { line: 2, error: 1003, message: 'The element must be a JSON object, not 2.' },
        { line: 3, id: 3, error: 1003, message: 'name is required.' },
      ],
    });
  });

  test('that is an array has at most BODY_LIMIT bytes', async () => {
    const { status, body } = await importPlants(`[${' '.repeat(1_048_576)}]`, { type: 'application/json' });
    expect([status, body]).toMatchObject([400, { error: 1002 }]);
  });

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('may be compressed: %s', async (encoding, compress) => {
    const headers = { 'Content-Encoding': encoding };
    expect(await importPlants(compress(numbered(1, 5000)), { headers })).toMatchObject({
      status: 200,
      body: counts(5000),
    });
    const array = `[${numbered(6001, 6010).trim().replaceAll('\n', ',')}]`;
    expect(await importPlants(compress(array), { type: 'application/json', headers })).toMatchObject({
      body: counts(10),
    });
    const bytes = compress(numbered(10_001, 30_000));
    const { status, body } = await importPlants(bytes.subarray(0, bytes.length - 100), { headers });
    expect([status, body]).toMatchObject([
      400,
      { error: 1000, message: expect.stringMatching(/^The body could not be/) },
    ]);
  });

  test.each(['gzip', 'deflate', 'br'])('that cannot be decompressed (%s) → 400, code 1000', async (encoding) => {
    const headers = { 'Content-Encoding': encoding };
    for (const bytes of [Buffer.from('not compressed at all'), Buffer.alloc(100_000, 0xff)]) {
      expect(await importPlants(bytes, { headers })).toMatchObject({ status: 400, body: { error: 1000 } });
    }
  });

  const NO_ROWS = 'The file has no rows: ';
  const ONE_LINE = `${NO_ROWS}it is a single line, its header row. If the line ends were lost on the way: curl -d removes them, curl --data-binary and -T keep them.`;

  test.each([
    [NDJSON, ['', '\n', '\r\n \n\t\n'], `${NO_ROWS}it is empty or has only blank lines.`],
    ['application/json', ['[]', ' [ \n] '], `${NO_ROWS}its array is empty.`],
    [
      'text/csv',
      ['id,name\n', 'id,name\r', '\ufeff\r\nid,name\r\n\r\n', 'sep=;\nid;name', '\nid,name'],
      `${NO_ROWS}it has only a header row.`,
    ],
    ['text/csv', ['id,name', 'id,name,tag1,Fir,Abies2,Yew,'], ONE_LINE],
  ])('may have no rows, and the response says so: %s %j', async (type, bodies, message) => {
    for (const body of bodies) {
      const expected = { status: 200, body: { ...counts(), errors: [], message } };
      expect(await importPlants(body, { type })).toMatchObject(expected);
      expect(await importPlants(gzipSync(body), { type, headers: GZIP, query: '?dryRun=true' })).toMatchObject(
        expected,
      );
      expect(await importPlants(body, { type, query: '?atomic=true' })).toMatchObject(expected);
    }
  });

  test('has no message if a row was skipped or failed', async () => {
    await importPlants('{"id":1,"name":"Fir"}');
    const skipped = await importPlants('id,name\n1,Fir', { type: 'text/csv', query: '?onConflict=skip' });
    expect(skipped.body).toEqual({ ...counts(0, 0, 1), errors: [] });
    expect((await importPlants('[1]', { type: 'application/json' })).body).not.toHaveProperty('message');
  });

  test('that is CSV must have a header row', async () => {
    expect(await importPlants('', { type: 'text/csv' })).toMatchObject({ status: 400, body: { error: 1003 } });
  });

  test.each([
    ['text/plain', {}],
    ['text/csv; charset=x-unknown', {}],
    ['application/x-ndjson; charset=utf-7', {}],
    ['application/json; charset=windows-1252', {}],
    ['application/json; charset=utf-16le', {}],
    [NDJSON, { 'Content-Encoding': 'zstd' }],
  ])('of type %s with %j → 400, code 1001', async (type, headers) => {
    expect(await importPlants('x', { type, headers })).toMatchObject({ status: 400, body: { error: 1001 } });
  });

  test('is invited by 100 Continue', async () => {
    const request = openImport('', { Expect: '100-continue' });
    request.flushHeaders();
    await once(request, 'continue');
    request.end('{"id":1,"name":"Fir"}');
    expect(await answerOf(request)).toMatchObject({ status: 200, body: counts(1) });
  });

  test.each([
    ['charset=windows-1252', Buffer.from('id;name\r\n1;Tannenb\xe4ume \x80\r\n', 'latin1'), 'Tannenbäume €'],
    ['Charset="UTF-16LE"', Buffer.from('\ufeffsep=\t\r\nID\tName \r\n1\tTännchen 🌲\r\n', 'utf16le'), 'Tännchen 🌲'],
  ])('may be CSV as spreadsheets save it: %s', async (charset, bytes, name) => {
    for (const [headers, sent] of [
      [{}, bytes],
      [GZIP, gzipSync(bytes)],
    ] as const) {
      const query = '?onConflict=replace';
      const { status, text } = await importPlants(sent, { query, type: `text/csv; ${charset}`, headers });
      expect([status, text]).toEqual([200, expect.stringContaining('"failed":0,"errors":[]')]);
      expect(await stored()).toEqual([['1', name, null]]);
    }
  });

  test.each<[string, Buffer | string, string]>([
    [`${NDJSON}; charset=Shift_JIS`, Buffer.from([...Buffer.from('{"id":1,"name":"'), 0x83, 0x82, 0x22, 0x7d]), 'モ'],
    [`${NDJSON}; charset=utf-16`, Buffer.from('\ufeff{"id":1,"name":"🌲"}\r\n\n', 'utf16le'), '🌲'],
    ['text/csv; charset=iso-8859-2', Buffer.from('id,name\n1,\xb3', 'latin1'), 'ł'],
    ['text/csv; charset=utf-16be', Buffer.from('\ufeffid,name\n1,é', 'utf16le').swap16(), 'é'],
    ['text/csv; charset=latin1', Buffer.from('id,name\n1,\x80', 'latin1'), '€'],
    ['text/csv; charset=us-ascii', 'id,name\n1,e', 'e'],
    ['application/json; charset=us-ascii', '[{"id":1,"name":"é"}]', 'é'],
    ['application/json; charset=unicode-1-1-utf-8', '[{"id":1,"name":"é"}]', 'é'],
  ])('may have any label of the Encoding standard, or of UTF-8 if it is JSON: %s', async (type, bytes, name) => {
    const { status, text } = await importPlants(bytes, { type });
    expect([status, text]).toEqual([200, expect.stringContaining('"failed":0,"errors":[]')]);
    expect(await stored()).toEqual([['1', name, null]]);
  });

  test.each([
    ['text/csv', 'id,name\n', 'utf-8', 1],
    ['text/csv; charset=US-ASCII', 'id,name\n', 'us-ascii', 1],
    [`${NDJSON}; charset=us-ascii`, '', 'us-ascii', 0],
  ])('in another encoding than it states is refused as a whole: %s', async (type, head, encoding, line) => {
    const rows = type === NDJSON || head === '' ? '{"id":1,"name":"T\xe4nnchen"}' : '1,T\xe4nnchen\n2,Fir';
    const { status, body } = await importPlants(Buffer.from(head + rows, 'latin1'), { type });
    const message =
      `The file is not ${encoding}, somewhere after line ${line}. If it is in another encoding, such as windows-1252 or ` +
      'utf-16le, state it. No row is stored. Correct the file first. Repeat the import.';
    expect([status, body]).toEqual([400, { error: 1000, message }]);
    expect(await count()).toBe(0);
  });

  test('with an invalid byte late in it ends there, with the line up to which every row is stored', async () => {
    const bytes = Buffer.from(`${numbered(1, 9000)}{"id":9001,"name":"T\xe4nnchen"}\n`, 'latin1');
    const { status, body } = await importPlants(bytes);
    expect([status, body]).toMatchObject([
      400,
      {
        error: 1000,
        message: expect.stringMatching(/after line 9000\. .* up to line \d+ is stored\..*onConflict=skip\.$/),
      },
    ]);
    const again = await importPlants(bytes, { query: '?onConflict=skip', type: `${NDJSON}; charset=latin1` });
    expect(again).toMatchObject({ status: 200, body: { failed: 0 } });
    expect(await count()).toBe(9001);
  });

  test('that is UTF-16 without saying so is refused with advice', async () => {
    const wide = await importPlants(Buffer.from('\ufeffid,name\n1,x', 'utf16le'), { type: 'text/csv' });
    expect([wide.status, wide.body]).toMatchObject([
      400,
      { error: 1000, message: expect.stringContaining('utf-16le') },
    ]);
    const noMark = await importPlants(Buffer.from('id,name\n1,x', 'utf16le'), { type: 'text/csv' });
    expect(noMark.body).toMatchObject({ error: 1000, message: expect.stringContaining('utf-16le') });
  });

  test.each([
    ['', (text: string) => Buffer.from(text)],
    ['; charset=windows-1252', (text: string) => Buffer.from(text, 'latin1')],
    ['; charset=utf-16le', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ])('may be CSV whose rows end with CR, compressed or not: text/csv%s', async (charset, encode) => {
    const type = `text/csv${charset}`;
    const csv = 'sep=;\rid;name;tag\r1;Échinacée;Abies\r\r2;"a\rb\r\nc";""\rx;Yew;\r';
    const expected = { status: 200, body: { ...counts(2, 0, 0, 1), errors: [{ line: 8, error: 1003 }] } };
    expect(await importPlants(encode(csv), { type })).toMatchObject(expected);
    expect(await stored()).toEqual([
      ['1', 'Échinacée', 'Abies'],
      ['2', 'a\rb\r\nc', ''],
    ]);
    const replaced = { ...expected, body: { ...expected.body, ...counts(0, 2, 0, 1) } };
    const zipped = gzipSync(encode(csv));
    expect(await importPlants(zipped, { type, headers: GZIP, query: '?onConflict=replace' })).toMatchObject(replaced);
  });

  test('that is CSV uses the delimiter of the query', async () => {
    const file = 'id,name,id;id;name\nx;1;Fir';
    expect(await importPlants(file, { type: 'text/csv' })).toMatchObject({ status: 200, body: counts(0, 0, 0, 1) });
    const query = `?delimiter=${encodeURIComponent(';')}`;
    expect(await importPlants(file, { type: 'text/csv', query })).toMatchObject({ status: 200, body: counts(1) });
  });

  test('has lines of at most BODY_LIMIT bytes; a longer one fails alone', async () => {
    const row = (id: number, length: number) => `{"id":${id},"name":"${'x'.repeat(length)}"}`;
    const room = 1_048_576 - row(1, 0).length;
    const { body } = await importPlants([row(1, room), row(2, room + 1), row(3, 1)].join('\n'));
    expect(body).toEqual({
      ...counts(2, 0, 0, 1),
      errors: [{ line: 2, error: 1002, message: 'The line must be at most 1048576 bytes.' }],
    });
  });
});

describe('a body in chunks', () => {
  const chunk = (bytes: string | Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), Buffer.from(bytes as string), Buffer.from('\r\n')]);
  const inBytes = (text: string | Buffer) => [...Buffer.from(text as string)].map((byte) => Buffer.from([byte]));

  /** Sends each piece as a chunk of its own. */
  const sendChunks = async (pieces: (string | Buffer)[], fields: string[]) => {
    const lines = ['POST /plants/import?onConflict=skip HTTP/1.1', 'Host: x', `Authorization: Bearer ${service.token}`];
    const head = `${[...lines, 'Transfer-Encoding: chunked', 'Connection: close', ...fields].join('\r\n')}\r\n\r\n`;
    const bytes = Buffer.concat([Buffer.from(head), ...pieces.map(chunk), Buffer.from('0\r\n\r\n')]);
    const [answer] = await exchangeBytes({ port: Number(new URL(service.baseUrl).port), bytes, deadline: 30_000 });
    return { status: answer?.status, body: JSON.parse(answer?.body ?? '') };
  };

  test.each<[string, (string | Buffer)[], string[]]>([
    ['NDJSON', inBytes(numbered(1, 200)), ['Content-Type: application/x-ndjson']],
    ['CSV', inBytes(`id,name\n${'1,a\n'.repeat(1000)}`), ['Content-Type: text/csv']],
    ['CSV whose header row has no end', inBytes('x'.repeat(4000)), ['Content-Type: text/csv']],
    ['blank lines', inBytes('\n'.repeat(4000)), ['Content-Type: application/x-ndjson']],
    ['an endless line', inBytes('x'.repeat(4000)), ['Content-Type: application/x-ndjson']],
    ['a JSON array', inBytes(`[${'1,'.repeat(2000)}1]`), ['Content-Type: application/json']],
    [
      'gzip',
      inBytes(gzipSync(numbered(1, 1000), { level: 0 })),
      ['Content-Type: application/x-ndjson', 'Content-Encoding: gzip'],
    ],
  ])('of one byte is refused: %s → 400, code 1002', async (_what, pieces, fields) => {
    const { status, body } = await sendChunks(pieces, fields);
    expect([status, body]).toMatchObject([
      400,
      { error: 1002, message: expect.stringMatching(/^The body arrives in too many pieces smaller than 64 bytes\./) },
    ]);
  });

  const rows = Array.from({ length: 5000 }, (_, index) => `${index},a`);

  test.each([
    ['rows', rows.map((row) => `${row}\n`)],
    ['rows, and chunks of line ends', rows.flatMap((row) => [row, '\n'])],
    ['rows, and chunks of CRLF', rows.flatMap((row) => [row, '\r\n'])],
    ['rows that end with CR', rows.map((row) => `${row}\r`)],
  ])('of %s is stored, however short the rows are', async (_what, pieces) => {
    const { status, body } = await sendChunks(['id,name\n', ...pieces], ['Content-Type: text/csv']);
    expect([status, body]).toMatchObject([200, counts(5000)]);
  });
});

describe('advice', () => {
  test('for a wrong header row is to correct the file', async () => {
    const { status, body } = await importPlants('id|name\n1|Fir', { type: 'text/csv' });
    expect([status, body]).toEqual([
      400,
      {
        error: 1003,
        message:
          'The header row is "id|name", which lacks id and name. It must be like id,name,tag, in any order, separated by ' +
          'commas, semicolons or tabs. No row is stored. Correct the file first. Repeat the import.',
      },
    ]);
  });

  test.each(['', '?onConflict=replace', '?atomic=true', '?dryRun=true'])(
    'for a database that is not migrated does not doubt what is stored: %s',
    async (query) => {
      await start();
      await service.database.query('ALTER TABLE plants RENAME TO other');
      const { status, body } = await importPlants(numbered(1, 5000), { query });
      expect([status, body]).toMatchObject([
        503,
        { error: 1502, message: expect.stringMatching(/ (No row|Nothing) is stored[^?]*\.$/) },
      ]);
    },
  );
});

describe('a row', () => {
  test('fails with the same error as POST /plants, and the others are stored', async () => {
    await service.post({ id: 1, name: 'Fir' });
    const { status, text, body } = await importPlants(
      [
        '{"id":9223372036854775807,"name":7}',
        '{"id":2,"name":"Yew"}',
        '',
        '{"id":1,"name":"Fir"}',
        'nonsense',
        '{"id":9223372036854775808,"name":"Fir"}',
        '{"id":3,"name":"\\u0000"}',
      ].join('\n'),
    );
    expect([status, body]).toMatchObject([200, counts(1, 0, 0, 5)]);
    expect(body.errors).toMatchObject([
      { line: 1, error: 1003, message: 'name must be a string, not 7.' },
      { line: 4, id: 1, error: 1004, message: 'The id 1 is taken.' },
      { line: 5, error: 1000 },
      { line: 6, error: 1003 },
      { line: 7, id: 3, error: 1003 },
    ]);
    expect(text).toContain('{"line":1,"id":9223372036854775807,');
    expect(body.errors.map((error) => 'id' in error)).toEqual([true, true, false, false, true]);
  });

  test('that PostgreSQL rejects fails alone', async () => {
    await start();
    await service.database.query("ALTER TABLE plants ADD CHECK (name <> 'refused')");
    const rows = `${numbered(1, 3000)}{"id":3001,"name":"refused"}\n${numbered(3002, 5000)}`;
    const { body } = await importPlants(rows);
    expect(body).toMatchObject({
      ...counts(4999, 0, 0, 1),
      errors: [{ line: 3001, id: 3001, error: 1003, message: 'The database rejected the plant.' }],
    });
    const again = await importPlants('{"id":9001,"name":"x"}\n{"id":9002,"name":"refused"}', { query: '?atomic=true' });
    expect(again).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), errors: [{ line: 2, id: 9002 }] } });
    expect(await count()).toBe(4999);
  });

  testUnless(
    noIndex,
    'that violates a unique index of its own fails alone, and not because its id is taken',
    async () => {
      await start();
      await service.database.query('CREATE UNIQUE INDEX ON plants (name)');
      const { body } = await importPlants(
        lines({ id: 1, name: 'Fir' }, { id: 2, name: 'Fir' }, { id: 3, name: 'Yew' }),
      );
      expect(body).toMatchObject({ ...counts(2, 0, 0, 1), errors: [{ line: 2, id: 2, error: 1003 }] });
    },
  );
});

describe('an id that is taken', () => {
  beforeEach(async () => {
    await importPlants(lines({ id: 1, name: 'Fir', tag: 'Abies' }, { id: 2, name: 'Yew' }));
  });
  const file = lines({ id: 1, name: 'Elm' }, { id: 3, name: 'Oak' }, { id: 2, name: 'Yew' });

  test.each(['', '?onConflict=error'])('is a failed row: %s', async (query) => {
    const { status, body } = await importPlants(file, { query });
    expect([status, body]).toMatchObject([200, { ...counts(1, 0, 0, 2), errors: [{ line: 1 }, { line: 3 }] }]);
    expect(await stored()).toEqual([
      ['1', 'Fir', 'Abies'],
      ['2', 'Yew', null],
      ['3', 'Oak', null],
    ]);
  });

  test('does not close the connection to PostgreSQL', async () => {
    await start();
    const connections = () =>
      service.database.query(
        'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    await importPlants(lines({ id: 4, name: 'Oak' }));
    const before = await connections();
    for (let times = 0; times < 5; times++) await importPlants(lines({ id: 4, name: 'Oak' }));
    expect(await connections()).toEqual(expect.arrayContaining(before));
  });

  test('is skipped', async () => {
    const { body } = await importPlants(file, { query: '?onConflict=skip' });
    expect(body).toEqual({ ...counts(1, 0, 2), errors: [] });
    expect(await stored()).toEqual([
      ['1', 'Fir', 'Abies'],
      ['2', 'Yew', null],
      ['3', 'Oak', null],
    ]);
  });

  test('is replaced, and a tag that is left out is removed', async () => {
    const { body } = await importPlants(file, { query: '?onConflict=replace' });
    expect(body).toEqual({ ...counts(1, 2), errors: [] });
    expect(await stored()).toEqual([
      ['1', 'Elm', null],
      ['2', 'Yew', null],
      ['3', 'Oak', null],
    ]);
  });
});

test('a refused import that only replaced says that rows are stored', async () => {
  await importPlants(numbered(1, 1));
  const { status, body } = await importPlants('{"id":1,"name":"Elm"}\n{}\n', {
    query: '?onConflict=replace&maxErrors=0',
  });
  expect([status, body]).toMatchObject([
    400,
    { ...counts(0, 1, 0, 1), message: expect.stringContaining('The rows before it that did not fail are stored') },
  ]);
});

describe('an id that occurs twice in an import', () => {
  // Within a chunk, and in concurrent chunks.
  const file = `${numbered(1, 100)}{"id":7,"name":"second"}\n${numbered(101, 3000)}{"id":7,"name":"third"}\n${numbered(3001, 6000)}{"id":5999,"name":"second"}\n`;

  test.each([
    ['error', counts(6000, 0, 0, 3), [101, 3002, 6003]],
    ['skip', counts(6000, 0, 3, 0), []],
    ['replace', counts(6000, 0, 0, 3), [101, 3002, 6003]],
  ])('is stored as in its first row: onConflict=%s', async (onConflict, expected, failed) => {
    for (const query of [`?onConflict=${onConflict}&dryRun=true`, `?onConflict=${onConflict}`]) {
      const { body } = await importPlants(file, { query });
      expect(body).toMatchObject({ ...expected, errors: failed.map((line) => ({ line, error: 1004 })) });
    }
    expect(await stored()).toContainEqual(['7', 'Fir 7', null]);
    expect(await stored()).toContainEqual(['5999', 'Fir 5999', null]);
  });

  test('and is replaced, once', async () => {
    await importPlants(lines({ id: 7, name: 'before' }));
    const { body } = await importPlants(file, { query: '?onConflict=replace' });
    expect(body).toMatchObject(counts(5999, 1, 0, 3));
    expect(await service.stored('7')).toMatchObject({ name: 'Fir 7' });
  });
});

describe('dryRun', () => {
  beforeEach(async () => {
    await importPlants(lines({ id: 1, name: 'Fir' }));
  });

  test.each([
    ['error', counts(2, 0, 0, 3)],
    ['skip', counts(2, 0, 2, 1)],
    ['replace', counts(2, 1, 0, 2)],
  ])('responds as the import would, and stores nothing: onConflict=%s', async (onConflict, expected) => {
    const file = lines(
      { id: 1, name: 'Elm' },
      { id: 2, name: 'Yew' },
      { id: 3 },
      { id: 4, name: 'Oak' },
      { id: 2, name: 'x' },
    );
    const dry = await importPlants(file, { query: `?dryRun=true&onConflict=${onConflict}` });
    expect([dry.status, dry.body]).toMatchObject([200, expected]);
    expect(await count()).toBe(1);
    const wet = await importPlants(file, { query: `?onConflict=${onConflict}` });
    expect({ ...wet.body, errors: [] }).toEqual({ ...dry.body, errors: [] });
  });

  test('with atomic', async () => {
    const dry = await importPlants(numbered(2, 5000), { query: '?dryRun=true&atomic=true' });
    expect(dry).toMatchObject({ status: 200, body: counts(4999) });
    const taken = await importPlants(numbered(1, 5000), { query: '?dryRun=true&atomic=true' });
    expect(taken).toMatchObject({ status: 400, body: counts(0, 0, 0, 1) });
    expect(await count()).toBe(1);
  });
});

describe('atomic', () => {
  test('stores all rows', async () => {
    const { status, body } = await importPlants(numbered(1, 10_000), { query: '?atomic=true' });
    expect([status, body]).toMatchObject([200, counts(10_000)]);
    expect(await count()).toBe(10_000);
  });

  test('stores none if one fails, and reports all failed rows', async () => {
    await service.post({ id: 5000, name: 'Fir' });
    const taken = await importPlants(numbered(1, 6000), { query: '?atomic=true' });
    expect(taken).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), errors: [{ line: 5000, id: 5000 }] } });
    const both = await importPlants(`{"id":9}\n${numbered(4999, 5001)}`, { query: '?atomic=true' });
    expect(both).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 2), errors: [{ line: 1 }, { line: 3 }] } });
    expect(await count()).toBe(1);
  });

  test('with onConflict', async () => {
    await importPlants(numbered(1, 10));
    const skip = await importPlants(numbered(5, 2500), { query: '?atomic=true&onConflict=skip' });
    expect(skip).toMatchObject({ status: 200, body: counts(2490, 0, 6) });
    const replace = await importPlants(lines({ id: 1, name: 'Elm' }, { id: 9001, name: 'Oak' }), {
      query: '?atomic=true&onConflict=replace',
    });
    expect(replace).toMatchObject({ status: 200, body: counts(1, 1) });
    const twice = await importPlants(lines({ id: 1, name: 'Ash' }, { id: 9002, name: 'x' }, { id: 1, name: 'y' }), {
      query: '?atomic=true&onConflict=replace',
    });
    expect(twice).toMatchObject({ status: 400, body: { ...counts(0, 0, 0, 1), errors: [{ line: 3, id: 1 }] } });
    expect(await service.stored('1')).toMatchObject({ name: 'Elm' });
    expect(await service.stored('9002')).toBeUndefined();
  });

  test('is limited to 10,000 rows and 16 million characters', async () => {
    const { status, body } = await importPlants(numbered(1, 10_001), { query: '?atomic=true' });
    expect([status, body]).toMatchObject([400, { error: 1002, message: expect.stringMatching(/at most 10,000 rows/) }]);
    const long = `{"id":1,"name":"${'x'.repeat(1_000_000)}"}\n`.repeat(17);
    expect(await importPlants(long, { query: '?atomic=true' })).toMatchObject({ status: 400, body: { error: 1002 } });
    expect(await count()).toBe(0);
  });

  test('holds no locks while it waits for the client', async () => {
    const request = openImport('?atomic=true');
    request.write(numbered(1, 3000));
    // Copies of one template have the same ids of relations.
    const locks = () =>
      service.database.query(
        `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
         WHERE datname = current_database() AND relation = 'plants'::regclass`,
      );
    await waitUntil('no lock on the plants', async () => (await locks()).length === 0);
    expect((await service.post({ id: 3001, name: 'Fir' })).status).toBe(200);
    request.end();
    expect(await answerOf(request)).toMatchObject({ status: 200, body: counts(3000) });
  });
});

describe('maxErrors', () => {
  const half = (rows: number) =>
    Array.from({ length: rows }, (_, index) => (index % 2 ? `{"id":${index}}\n` : `{"id":${index},"name":""}\n`)).join(
      '',
    );

  test.each([0, 1, 100])(
    'when more than %d rows fail, the import stops, and what is stored stays',
    async (maxErrors) => {
      const { status, body } = await importPlants(half(10_000), { query: `?maxErrors=${maxErrors}` });
      expect([status, body]).toMatchObject([400, counts(maxErrors + 1, 0, 0, maxErrors + 1)]);
      expect(body.errors).toHaveLength(maxErrors + 1);
      expect(body.errors.at(-1)).toMatchObject({ line: 2 * maxErrors + 2, id: 2 * maxErrors + 1, error: 1003 });
      expect(await count()).toBe(maxErrors + 1);
    },
  );

  test('is 1000 by default, inclusive', async () => {
    expect(await importPlants(half(2000))).toMatchObject({ status: 200, body: counts(1000, 0, 0, 1000) });
    expect(await importPlants(half(2002), { query: '?onConflict=skip' })).toMatchObject({ status: 400 });
    const most = await importPlants(half(20_000), { query: '?onConflict=skip&maxErrors=10000' });
    expect(most).toMatchObject({ status: 200, body: { failed: 10_000 } });
    expect(most.body.errors).toHaveLength(10_000);
    const over = await importPlants(half(20_002), { query: '?onConflict=skip&maxErrors=10000' });
    expect([over.status, over.body.failed, over.body.errors.length]).toEqual([400, 10_001, 10_001]);
    expect(over.body).toMatchObject({ stoppedAt: 20_002 });
  });

  test('stops the import during the upload, and closes the connection', async () => {
    const request = openImport('?maxErrors=0');
    request.write('{}\n');
    expect(await answerOf(request)).toMatchObject({ status: 400, body: counts(0, 0, 0, 1) });
    if (!request.destroyed) await once(request, 'close');
  });

  test('with conflicts', async () => {
    await importPlants(numbered(1, 8000));
    const { status, body } = await importPlants(numbered(1, 9000), { query: '?maxErrors=10' });
    const message = 'The import stopped at line 11 because more than 10 rows failed. Nothing is stored.';
    expect([status, body]).toMatchObject([400, { ...counts(0, 0, 0, 11), stoppedAt: 11, message }]);
    expect(body.errors.map((error) => (error as { line: number }).line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(service.log.findLast(({ msg }) => msg === 'import ended')).toMatchObject({
      outcome: 'refused',
      stoppedAt: 11,
    });
  });
});

describe('the request', () => {
  test.each([
    ['?onConflict=ignore', 'The parameter onConflict must be error, skip or replace, not "ignore".'],
    ['?onconflict=skip', 'The parameter onconflict is not known.'],
    ['?dryRun=1', 'The parameter dryRun must be true or false, not "1".'],
    ['?delimiter=|', 'The parameter delimiter must be a comma, a semicolon or tab, not "|".'],
    ['?dryRun', 'The parameter dryRun must be true or false, not "".'],
    ['?atomic=true&atomic=false', 'The parameter atomic must be true or false, not an array of 2 values.'],
    ['?maxErrors=10001', 'The parameter maxErrors must be an integer from 0 to 10000, not "10001".'],
    [
      '?maxErrors=-1&x=1',
      'The parameter maxErrors must be an integer from 0 to 10000, not "-1". The parameter x is not known.',
    ],
  ])('with %s → 400, code 1005', async (query, message) => {
    expect(await importPlants('{"id":1,"name":""}', { query })).toMatchObject({
      status: 400,
      body: { error: 1005, message },
    });
    expect(await count()).toBe(0);
  });

  test('needs a token with plants:write', async () => {
    const post = (token: string) => service.agent.post('/plants/import').set('Authorization', `Bearer ${token}`);
    expect((await service.agent.post('/plants/import')).status).toBe(401);
    const reader = await service.tokens.create({ name: 'reader', scopes: ['plants:read'], expiresAt: null });
    expect((await post(reader)).status).toBe(403);
  });

  test('must be a POST', async () => {
    for (const method of ['get', 'put', 'patch', 'delete'] as const) {
      const { status, headers } = await service.request(method, '/plants/import');
      expect([status, headers.allow]).toEqual([405, 'POST, OPTIONS']);
    }
    const { status, headers } = await service.agent.options('/plants/import');
    expect([status, headers.allow]).toEqual([204, 'POST, OPTIONS']);
  });

  test('gets problem details if it prefers them', async () => {
    const { headers, body } = await importPlants('x', {
      type: 'text/plain',
      headers: { Accept: 'application/problem+json' },
    });
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toMatchObject({ status: 400, code: 1001 });
  });
});

describe('an import is interrupted by', () => {
  test('a pause of REQUEST_TIMEOUT → 408, code 1203, with the line up to which every row is stored', async () => {
    await start({}, { requestTimeout: 800 });
    const request = openImport();
    request.write(numbered(1, 4100));
    expect(await answerOf(request)).toEqual({
      status: 408,
      body: {
        error: 1203,
        message:
          'The client paused for too long. Every row up to line 4000 is stored. Repeat the import with onConflict=skip.',
      },
    });
    expect(await count()).toBe(4000);
    const again = await importPlants(numbered(1, 4100), { query: '?onConflict=skip' });
    expect(again).toMatchObject({ status: 200, body: counts(100, 0, 4000) });
    expect(service.log.find(({ outcome }) => outcome === 'interrupted')).toMatchObject({
      storedUpTo: 4000,
      created: 4000,
    });
  });

  test('no timeout if a longer upload has only short pauses; the next request has its timeout again', async () => {
    await start({}, { requestTimeout: 800 });
    const request = openImport('', { Connection: 'keep-alive' });
    // The pauses together are longer than REQUEST_TIMEOUT.
    for (let id = 1; id <= 10; id++) {
      request.write(`{"id":${id},"na`);
      await setTimeout(100);
      request.write('me":"Fir"}\n');
    }
    request.end();
    expect(await answerOf(request)).toMatchObject({ status: 200, body: counts(10) });
    const slow = httpRequest(`${service.baseUrl}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json', 'Content-Length': 100 },
    });
    slow.on('error', () => {});
    slow.write('{');
    expect(await answerOf(slow)).toMatchObject({ status: 408, body: { error: 1203 } });
  });

  const NOT_HTTP = 'The body is not valid HTTP/1.1.';
  const ENDED_EARLY = 'The client stopped sending within the body.';

  test.each<[string, string, (socket: Socket) => void, string]>([
    ['a client that ends its side within a chunk', 'Transfer-Encoding: chunked', (s) => s.end('5\r\n{'), ENDED_EARLY],
    ['a client that ends its side between chunks', 'Transfer-Encoding: chunked', (s) => s.end(), ENDED_EARLY],
    ['a client that sends less than its Content-Length', 'Content-Length: 9999999', (s) => s.end('{"id'), ENDED_EARLY],
    ['a malformed chunk', 'Transfer-Encoding: chunked', (s) => s.write('nonsense\r\n'), NOT_HTTP],
    ['a malformed chunk and more', 'Transfer-Encoding: chunked', (s) => s.write('?\r\n'.repeat(50_000)), NOT_HTTP],
  ])('%s → 400, code 1006, with the line', async (_title, framing, interrupt, reason) => {
    await start();
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    const answer = readAll(socket.setEncoding('latin1'));
    socket.write(
      `POST /plants/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: ${NDJSON}\r\n${framing}\r\n\r\n`,
    );
    const rows = numbered(1, 4100);
    socket.write(framing.startsWith('Content') ? rows : `${rows.length.toString(16)}\r\n${rows}\r\n`);
    await waitUntil('rows', async () => (await count()) >= 4000);
    interrupt(socket);
    const [head = '', body = ''] = (await answer).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close/i);
    const message = `${reason} Every row up to line 4000 is stored. Repeat the import with onConflict=skip.`;
    expect(JSON.parse(body)).toEqual({ error: 1006, message });
    expect(await count()).toBe(4000);
    expect(service.log.filter(({ path }) => path === '/plants/import')).toMatchObject([{ status: 400, error: 1006 }]);
  });

  test('an invalid quote in its first chunk → 400, and no row is stored', async () => {
    const { body } = await importPlants('id,name\n1,Fir\n2,"a"b\n', { type: 'text/csv' });
    expect(body).toMatchObject({
      error: 1000,
      message: expect.stringMatching(/ No row is stored\. Correct the file first\. Repeat the import\.$/),
    });
    expect(await count()).toBe(0);
  });

  test('no timeout of single requests', async () => {
    await start({}, { requestTimeout: 800 });
    const unlock = await lockPlants(service.database.url);
    const importing = importPlants(numbered(1, 3000));
    // Longer than a single request may take.
    await setTimeout(1200);
    await unlock();
    expect(await importing).toMatchObject({ status: 200, body: counts(3000) });
  });

  test.each(['the request times out', 'the client ends its side'])(
    'failed rows → 400 with the counts, although %s meanwhile',
    async (event) => {
      await start({}, { requestTimeout: 800 });
      const unlock = await lockPlants(service.database.url);
      const socket = connect({ port: Number(new URL(service.baseUrl).port), allowHalfOpen: true });
      const answer = readAll(socket);
      const rows = `${numbered(1, 2001)}{}\n`;
      const head = `POST /plants/import?maxErrors=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}`;
      socket.write(`${head}\r\nContent-Type: ${NDJSON}\r\nContent-Length: 9999999\r\n\r\n${rows}`);
      await waitForBlocked(service.database, 'INSERT');
      if (event === 'the client ends its side') socket.end();
      // Several checks of connections.
      await setTimeout(event === 'the request times out' ? 1200 : 500);
      await unlock();
      // A client that has ended its side gets interim responses while it waits.
      const [responseHead, body = ''] = (await answer)
        .replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '')
        .split('\r\n\r\n');
      expect(responseHead).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close/i);
      expect(JSON.parse(body)).toMatchObject({ ...counts(2001), failed: 1 });
      expect(await count()).toBe(2001);
      socket.destroy();
    },
  );

  const gzipOf = (rows: string, behind = '') =>
    Buffer.concat([gzipSync(rows, { finishFlush: constants.Z_SYNC_FLUSH }), Buffer.from(behind)]);

  test.each<[string, string, Record<string, string>, string | Buffer, number, object]>([
    ['rows with taken ids', '?maxErrors=0', {}, numbered(1, 2001), 400, counts(0, 0, 0, 1)],
    ['compressed rows that fail', '?maxErrors=0', GZIP, gzipOf('{}\n'), 400, counts(0, 0, 0, 1)],
    ['too many compressed rows', '?atomic=true', GZIP, gzipOf(numbered(1, 10_001)), 400, { error: 1002 }],
    [
      'compressed CSV',
      '',
      { ...GZIP, 'Content-Type': 'text/csv' },
      gzipOf('id,name\n1,"a"b\n2,c\n'),
      400,
      { error: 1000 },
    ],
    ['corrupt gzip', '', GZIP, gzipOf(numbered(1, 9), 'x'.repeat(99)), 400, { error: 1000 }],
    ['data behind gzip', '', GZIP, Buffer.concat([gzipSync(''), Buffer.from('\0x')]), 400, { error: 1000 }],
  ])('%s, although the client pauses', async (_title, query, headers, bytes, status, body) => {
    if (query === '?maxErrors=0') await importPlants(numbered(1, 2001));
    const request = openImport(query, headers);
    const startedAt = performance.now();
    request.write(bytes);
    expect(await answerOf(request)).toMatchObject({ status, body });
    // Not only once the pause exceeds REQUEST_TIMEOUT.
    expect(performance.now() - startedAt).toBeLessThan(PATIENCE / 2);
  });

  test('a lost database connection, although the client pauses', async () => {
    const unlock = await lockPlants(service.database.url);
    const request = openImport();
    request.write(numbered(1, 2001));
    await waitForBlocked(service.database, 'INSERT');
    await terminateBlocked(service.database);
    expect(await answerOf(request)).toMatchObject({ status: 503, body: { error: 1501 } });
    await unlock();
  });

  test('a lost database connection → 503, code 1501, with the line', async () => {
    const request = openImport();
    request.write(numbered(1, 6000));
    await waitUntil('rows', async () => (await count()) >= 4000);
    const unlock = await lockPlants(service.database.url);
    request.write(numbered(6001, 12_000));
    // Two chunks: one that is not terminated would wait for the lock.
    await waitUntil(
      'chunks',
      async () => (await blockedStatements(service.database)).filter((sql) => sql.includes('INSERT')).length >= 2,
    );
    await terminateBlocked(service.database);
    const { status, body } = await answerOf(request);
    await unlock();
    expect([status, body.error]).toEqual([503, 1501]);
    const line = Number(
      /^The database connection was lost or timed out\. .* up to line (\d+) is stored\. Repeat .*=skip\.$/.exec(
        body.message,
      )?.[1],
    );
    expect(line).toBeGreaterThanOrEqual(4000);
    const [found] = await service.database.query(`SELECT count(*) FROM plants WHERE id <= ${line}`);
    expect(found?.count).toBe(String(line));
    const again = await importPlants(numbered(1, 12_000), { query: '?onConflict=skip' });
    expect(again).toMatchObject({ status: 200, body: { failed: 0 } });
    expect([again.body.created + again.body.skipped, await count()]).toEqual([12_000, 12_000]);
  });

  test('a lost connection of its session (atomic, replace)', async () => {
    await start({ REQUEST_TIMEOUT: '60' });
    for (const query of ['?atomic=true', '?onConflict=replace']) {
      const unlock = await lockPlants(service.database.url);
      const answer = importPlants(numbered(1, 3000), { query });
      await waitForBlocked(service.database, 'INSERT');
      await terminateBlocked(service.database);
      expect(await answer).toMatchObject({ status: 503, body: { error: 1501 } });
      await unlock();
    }
    expect(await count()).toBe(0);
    const sessions =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    expect(await service.database.query(sessions)).toEqual([]);
  });

  test('a disconnected client: chunks in flight are finished, and a repeated import can skip them', async () => {
    await start();
    const request = openImport();
    request.write(numbered(1, 9000));
    await waitUntil('rows', async () => (await count()) >= 4000);
    request.destroy();
    await waitUntil('the end', () => ended() !== undefined);
    const storedUpTo = Number(ended()?.storedUpTo);
    expect(ended()).toMatchObject({ outcome: 'interrupted', created: await count() });
    const [found] = await service.database.query(`SELECT count(*) FROM plants WHERE id <= ${storedUpTo}`);
    expect(found?.count).toBe(String(storedUpTo));
    const created = await count();
    const again = await importPlants(numbered(1, 9000), { query: '?onConflict=skip' });
    expect(again.body).toMatchObject(counts(9000 - created, 0, created));
  });

  test('a disconnected client, even if much of its body is still to be decompressed', async () => {
    await start({ METRICS_PORT: '0' });
    const bomb = gzipSync(Buffer.alloc(60_000_000, ' \n'));
    const inProgress = async () => (await metrics()).value('plant_store_imports_in_progress');
    const request = openImport('', { 'Content-Encoding': 'gzip', 'Content-Length': String(bomb.length) });
    request.end(bomb);
    await waitUntil('the import to begin', async () => (await inProgress()) === 1);
    request.destroy();
    // Decompressing and reading the rest would take three times as long.
    await waitUntil('the import to end', async () => (await inProgress()) === 0, { patience: 5000 });
    expect(ended()).toMatchObject({ outcome: 'interrupted' });
  });

  test('a shutdown → 503, code 1504, with the line', async () => {
    await start({}, { shutdownTimeout: 1000 });
    const request = openImport();
    request.write(numbered(1, 2500));
    await waitUntil('rows', async () => (await count()) >= 2000);
    const stopping = service.stopServer();
    const { status, body } = await answerOf(request);
    expect([status, body.error]).toEqual([503, 1504]);
    expect(body.message).toMatch(/^The service is stopping\. Every row up to line 2000 is stored\./);
    await stopping;
  });

  test.each(['error', 'skip', 'replace'])('a shutdown, even if a chunk hangs: onConflict=%s', async (onConflict) => {
    await start({}, { shutdownTimeout: 1000 });
    const request = openImport(`?onConflict=${onConflict}`);
    request.write(numbered(1, 2500));
    await waitUntil('rows', async () => (await count()) >= 2000);
    const unlock = await lockPlants(service.database.url);
    request.write(numbered(2501, 9000));
    await waitForBlocked(service.database, 'INSERT');
    // The chunk is locked, so that only the shutdown can end it.
    const stopping = service.stopServer();
    const { status, body } = await answerOf(request);
    expect([status, body.error]).toEqual([503, 1504]);
    expect(body.message).toMatch(/^The service is stopping\. Every row up to line 2000 is stored\./);
    await stopping;
    await unlock();
  });

  test('a shutdown within a JSON array', async () => {
    await start({ METRICS_PORT: '0' }, { shutdownTimeout: 300 });
    const request = openImport('', { 'Content-Type': 'application/json' });
    request.write('[');
    await waitUntil('it', async () => (await metrics()).value('plant_store_imports_in_progress') === 1);
    const stopping = service.stopServer();
    expect(await answerOf(request)).toMatchObject({ status: 503, body: { error: 1504 } });
    await stopping;
  });

  test('a shutdown, even if an atomic import hangs', async () => {
    await start({}, { shutdownTimeout: 1000 });
    const unlock = await lockPlants(service.database.url);
    const request = openImport('?atomic=true');
    request.end(numbered(1, 2500));
    await waitForBlocked(service.database, 'INSERT');
    const stopping = service.stopServer();
    const { status, body } = await answerOf(request);
    expect([status, body]).toMatchObject([
      503,
      { error: 1504, message: 'The service is stopping. Nothing is stored. Repeat the import.' },
    ]);
    await stopping;
    await unlock();
    expect(await count()).toBe(0);
  });

  test('an invalid quote in CSV → 400, with the line', async () => {
    const csv = `id,name\n${Array.from({ length: 2500 }, (_, index) => `${index},Fir\n`).join('')}9999,"a"b\n`;
    const { status, body } = await importPlants(csv, { type: 'text/csv' });
    expect([status, body]).toMatchObject([
      400,
      {
        error: 1000,
        message:
          'The CSV has an invalid or unclosed quote in the row at line 2502. Every row up to line 2001 is stored. ' +
          'Correct the file first. Repeat the import with onConflict=skip.',
      },
    ]);
  });
});

test('a body without rows ends with what is stored: 408, code 1203', async () => {
  const { imports } = limitRequests(readConfig({}));
  service = await startService({}, { requestLimits: { imports: { ...imports, rowTimeout: 300 } } });
  const request = openImport();
  request.write(numbered(1, 2001));
  const blank = setInterval(() => request.write('\n'.repeat(1000)), 20);
  const { status, body } = await answerOf(request);
  clearInterval(blank);
  request.destroy();
  expect([status, body]).toEqual([
    408,
    {
      error: 1203,
      message:
        'The body has had no row for too long. Every row up to line 2000 is stored. Repeat the import with onConflict=skip.',
    },
  ]);
  expect(await count()).toBe(2000);
});

describe('concurrent imports', () => {
  test('are limited to four, of which a token gets two; more get 503, code 1500', async () => {
    await start({ METRICS_PORT: '0' });
    const other = await asOther();
    const inProgress = async () => (await metrics()).value('plant_store_imports_in_progress') ?? 0;
    const open = [openImport(), openImport()];
    for (const request of open) request.write('\n');
    await waitUntil('two imports', async () => (await inProgress()) >= 2);
    const third = await importPlants('');
    expect([third.status, third.headers.get('retry-after'), third.body]).toEqual([
      503,
      '1',
      { error: 1500, message: 'Too many imports of this token are in progress. Try again later.' },
    ]);
    open.push(openImport('', other), openImport('', other));
    for (const request of open.slice(2)) request.write('\n');
    await waitUntil('four imports', async () => (await inProgress()) >= 4);
    expect(await importPlants('')).toMatchObject({ status: 503, body: { error: 1500 } });
    const answers = open.map(answerOf);
    for (const [index, request] of open.entries()) request.end(`{"id":${index},"name":""}`);
    for (const answer of answers) expect(await answer).toMatchObject({ status: 200, body: counts(1) });
    expect((await importPlants('')).status).toBe(200);
  });

  test.each(['?onConflict=replace', '?dryRun=true'])('open their session with their first chunk: %s', async (query) => {
    await start();
    const sessions = async () =>
      (
        await service.database.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%imported%' AND pid <> pg_backend_pid()",
        )
      ).length;
    const other = await asOther();
    const open = [{}, {}, other, other].map((headers) => openImport(query, headers));
    for (const request of open) request.write(numbered(1, 10));
    await setTimeout(300);
    expect(await sessions()).toBe(0);
    open[0]?.write(numbered(11, 2100));
    await waitUntil('a session', async () => (await sessions()) >= 1);
    for (const request of open) request.end();
    for (const request of open) expect((await answerOf(request)).status).toBe(200);
    await waitUntil('no session', async () => (await sessions()) === 0);
  });

  test('leave connections for single requests, even while they wait for their clients', async () => {
    await start({ DATABASE_CONNECTIONS: '2' });
    const queries = ['', '?onConflict=replace', '?dryRun=true', '?atomic=true'];
    const other = await asOther();
    const open = queries.map((query, index) => openImport(query, index % 2 === 0 ? {} : other));
    for (const request of open) request.write(numbered(1, 2100));
    await waitUntil('rows', async () => (await count()) > 0);
    for (let id = 10_001; id < 10_020; id++) expect((await service.post({ id, name: 'Fir' })).status).toBe(200);
    for (const request of open) request.end();
    for (const request of open) await answerOf(request);
  });

  test('of the same rows store each row once', async () => {
    await start();
    const rows = numbered(1, 10_000);
    const queries = ['skip', 'skip', 'error', 'replace'].map((mode) => `?maxErrors=10000&onConflict=${mode}`);
    const other = await asOther();
    const answers = await Promise.all(
      queries.map((query, index) => importPlants(rows, { query, headers: index % 2 === 0 ? {} : other })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(10_000);
    expect(await count()).toBe(10_000);
  });
});

test('16 clients with single requests are served during an import', async () => {
  const importing = importPlants(numbered(1, 2000));
  let isRunning = true;
  const end = () => {
    isRunning = false;
  };
  importing.then(end, end);
  let nextId = 100_000;
  const ids: number[] = [];
  const client = async () => {
    while (isRunning) {
      const id = nextId++;
      ids.push(id);
      const response = await fetch(`${service.baseUrl}/plants`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' },
        body: `{"id":${id},"name":"Yew"}`,
      });
      expect([response.status, await response.json()]).toEqual([200, { name: 'Yew' }]);
    }
  };
  await Promise.all(Array.from({ length: 16 }, client));
  expect(await importing).toMatchObject({ status: 200, body: counts(2000) });
  expect(await count()).toBe(2000 + ids.length);
  // Each client got several responses meanwhile.
  expect(ids.length).toBeGreaterThan(3 * 16);
}, 60_000);

test('imports are counted, and each is logged in one line', async () => {
  await start({ METRICS_PORT: '0' });
  expect((await metrics()).value('plant_store_import_rows_total', { outcome: 'created' })).toBe(0);
  await importPlants(`${numbered(1, 10)}{}\n${numbered(10, 10)}`);
  await importPlants(numbered(1, 20), { query: '?onConflict=skip' });
  await importPlants(numbered(1, 20), { query: '?dryRun=true' });
  const { value } = await metrics();
  const rows = (outcome: string) => value('plant_store_import_rows_total', { outcome });
  expect(['created', 'replaced', 'skipped', 'failed'].map(rows)).toEqual([20, 0, 10, 2]);
  expect(value('plant_store_imports_in_progress')).toBe(0);
  const ends = service.log.filter(({ msg }) => msg === 'import ended');
  expect(ends).toMatchObject([
    { level: 'info', outcome: 'completed', ...counts(10, 0, 0, 2), onConflict: 'error', requestId: expect.any(String) },
    { ...counts(10, 0, 10) },
    { dryRun: true },
  ]);
});

test('atomic imports of the same ids in opposite order do not deadlock', async () => {
  const rows = Array.from({ length: 10_000 }, (_, id) => `{"id":${id},"name":"Fir"}\n`);
  const query = '?atomic=true&onConflict=skip';
  const answers = await Promise.all([
    importPlants(rows.join(''), { query, headers: await asOther() }),
    importPlants(rows.reverse().join(''), { query }),
  ]);
  const created = answers.map(({ status, body }) => [status, body.created]);
  expect(created.sort()).toEqual([
    [200, 0],
    [200, 10_000],
  ]);
});

test('an atomic import does not wait behind imports that wait for its locks', async () => {
  const rows = numbered(1, 4500);
  const headers = await asOther();
  const results = await Promise.all([
    importPlants(rows, { query: '?atomic=true&onConflict=skip', headers }),
    importPlants(rows, { query: '?onConflict=skip' }),
    importPlants(rows, { query: '?atomic=true&onConflict=skip' }),
    service.post({ id: 1, name: 'Fir' }),
    service.post({ id: 99_999, name: 'Fir' }),
  ]);
  expect(results.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(results[4]?.status).toBe(200);
});
