import { once } from 'node:events';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { answerOf, counts, NDJSON, numbered, useImports } from '../../support/use-imports.ts';

const client = useImports();
const GZIP = { 'Content-Encoding': 'gzip' };
const { importPlants, openImport, stored, count } = client;

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
    const [range] = await client.service.database.query('SELECT min(id), max(id) FROM plants');
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
    const message =
      "A JSON array must be at most 1,048,576 bytes. NDJSON may have any size: jq -c '.[]' converts a JSON array. Nothing is stored.";
    expect([status, body]).toEqual([400, { error: 1002, message }]);
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

  const NO_ROWS =
    'The file has no rows: it is empty, or has only a header row or blank lines. If line ends were lost on the way: curl -d removes them, curl --data-binary and -T keep them.';

  test.each([
    [NDJSON, ['', '\n', '\r\n \n\t\n', '\r\r\n\r\r\n']],
    ['application/json', ['[]', ' [ \n] ']],
    ['text/csv', ['id,name\n', 'id,name\r', '\ufeff\r\nid,name\r\n\r\n', 'sep=;\nid;name', 'sep=;', '\nid,name']],
    ['text/csv', ['', '\r\n\r\n', 'id,name', 'id,name,tag1,Fir,Abies2,Yew,']],
  ])('may have no rows, and the response says so: %s %j', async (type, bodies) => {
    for (const body of bodies) {
      const expected = { status: 200, body: { ...counts(), errors: [], message: NO_ROWS } };
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

  test.each([
    ['application/vnd.ms-excel; charset=windows-1252', 'id,name\n1,Fir'],
    ['Application/CSV', 'id,name\n1,Fir'],
    ['text/comma-separated-values', 'id,name\n1,Fir'],
    ['application/jsonl; charset=utf8', '{"id":1,"name":"Fir"}'],
    ['application/x-jsonlines', '{"id":1,"name":"Fir"}'],
    ['application/ndjson', '{"id":1,"name":"Fir"}'],
    ['text/x-csv', 'id,name\n1,Fir'],
    ['application/x-csv', 'id,name\n1,Fir'],
    ['text/x-comma-separated-values', 'id,name\n1,Fir'],
    ['text/tab-separated-values; charset=utf-8', 'id\tname\n1\tFir'],
    ['text/tsv', 'id\tname\n1\tFir'],
    ['application/x-jsonl', '{"id":1,"name":"Fir"}'],
    ['text/jsonl', '{"id":1,"name":"Fir"}'],
    ['text/x-ndjson', '{"id":1,"name":"Fir"}'],
  ])('may have another type that browsers and tools send: %s', async (type, body) => {
    expect(await importPlants(body, { type })).toMatchObject({ status: 200, body: counts(1) });
  });

  test('may begin with a byte order mark, which outranks the charset', async () => {
    const body = Buffer.from('\ufeffid,name\n1,É\n', 'utf16le').swap16();
    const type = 'text/csv; charset=utf-16';
    expect(await importPlants(body, { type })).toMatchObject({ status: 200, body: counts(1) });
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

  test('that is an array of more than BODY_LIMIT bytes is not invited by 100 Continue', async () => {
    const headers = { Expect: '100-continue', 'Content-Type': 'application/json', 'Content-Length': '1048577' };
    const request = openImport('', headers);
    let isInvited = false;
    request.on('continue', () => {
      isInvited = true;
    });
    request.flushHeaders();
    expect(await answerOf(request)).toMatchObject({ status: 400, body: { error: 1002 } });
    expect(isInvited).toBe(false);
    request.destroy();
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
    ['text/csv; charset=cp1252', Buffer.from('id,name\n1,\x80', 'latin1'), '€'],
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
      `The file is not ${encoding}${line > 0 ? `, somewhere after line ${line}` : ''}. If it is in another encoding, such as windows-1252 or ` +
      'utf-16le, state it, or convert the file to UTF-8. Nothing is stored.';
    expect([status, body]).toEqual([400, { error: 1000, message }]);
    expect(await count()).toBe(0);
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
