import { expect, test } from '@jest/globals';
import { parseQuery } from './parse-request.ts';

test('a query has all of its parameters, however many come before', () => {
  expect(parseQuery(`${'&'.repeat(1000)}dryRun=true`)).toEqual({ dryRun: 'true' });
});
