import { expect, test } from '@jest/globals';
import { createChangeLines } from './change-lines.ts';

test('a table may have an object id that is negative as a signed number', () => {
  const toLines = createChangeLines(0xf0_00_00_01);
  const oid = '\xf0\0\0\x01';
  // Messages of pgoutput: a relation with one column, and an insert of the id 7 (manual, §54.9).
  const relation = `R${oid}public\0plants\0d\0\x01\x01id\0\0\0\0\x14${'\xff'.repeat(4)}`;
  const insert = `I${oid}N\0\x01b\0\0\0\x08${'\0'.repeat(7)}\x07`;
  const lines = [relation, insert].map((message) => toLines(Buffer.from(message, 'latin1')));
  expect(lines).toEqual(['', expect.stringContaining('"change":"created","id":7')]);
});
