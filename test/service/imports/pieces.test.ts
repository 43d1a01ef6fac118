import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { exchangeBytes } from '../../support/raw-http.ts';
import { counts, numbered, useImports } from '../../support/use-imports.ts';

const client = useImports();

describe('a body in chunks', () => {
  const chunk = (bytes: string | Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), Buffer.from(bytes as string), Buffer.from('\r\n')]);
  const inBytes = (text: string | Buffer) => [...Buffer.from(text as string)].map((byte) => Buffer.from([byte]));

  /** Sends each piece as a chunk of its own. */
  const sendChunks = async (pieces: (string | Buffer)[], fields: string[]) => {
    const lines = [
      'POST /plants/import?onConflict=skip HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${client.service.token}`,
    ];
    const head = `${[...lines, 'Transfer-Encoding: chunked', 'Connection: close', ...fields].join('\r\n')}\r\n\r\n`;
    const bytes = Buffer.concat([Buffer.from(head), ...pieces.map(chunk), Buffer.from('0\r\n\r\n')]);
    const [answer] = await exchangeBytes({
      port: Number(new URL(client.service.baseUrl).port),
      bytes,
      deadline: 30_000,
    });
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
