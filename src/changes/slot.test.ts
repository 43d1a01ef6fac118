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

test('a database that accepts no connections says nothing about the slot', () => {
  const refused = Object.assign(new Error('it is not currently accepting connections'), { code: '55000' });
  expect(explain(refused.message, refused.code).message).toContain('is lost');
  expect(explainSlotError(toConnectError(refused), 'mirror').message).not.toContain('is lost');
});
