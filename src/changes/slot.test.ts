import { expect, test } from '@jest/globals';
import { toConnectError } from '../database/database-error.ts';
import { explainSlotError } from './slot.ts';

const explain = (message: string, code: string) =>
  explainSlotError(Object.assign(new Error(message), { code }), 'mirror');

test('a publication that is missing, as PostgreSQL 17 and older say it, or that another command creates, is not reported as a problem of the slot', () => {
  const { message } = explain('publication "plant_store" does not exist', '42704');
  expect(message).toMatch(/^The publication plant_store lacks changes of plants\./);
  const created = explain('publication "plant_store" already exists', '42710');
  expect(created.message).toMatch(/or try again if it is new\. .* already exists\.$/);
});

test('a slot that cannot be read need not be lost: the message has what PostgreSQL says', () => {
  const refused = Object.assign(new Error('it is not currently accepting connections'), { code: '55000' });
  for (const error of [refused, toConnectError(refused)]) {
    const { message } = explainSlotError(error, 'mirror');
    expect(message).toMatch(
      /^The slot mirror cannot be read now\. .* PostgreSQL says: it is not currently accepting connections\.$/,
    );
    expect(message).not.toContain('--drop');
  }
});
