import { expect, test } from '@jest/globals';
import { sessionUrl } from './database-url.ts';

test('?schema= comes behind the options of the URL, so that it takes precedence', () => {
  const url = sessionUrl('postgresql://h/d?options=-c%20search_path%3Dother&schema=own');
  const { searchParams } = new URL(url);
  expect(searchParams.get('options')).toBe('-c search_path=other -c search_path="own"');
  expect(searchParams.has('schema')).toBe(false);
});

test.each([
  ['', 'plant-store'],
  ['?application_name=garden', 'garden'],
])('a session has the name plant-store unless the URL has another: %s', (parameters, name) => {
  expect(new URL(sessionUrl(`postgresql://h/d${parameters}`)).searchParams.get('application_name')).toBe(name);
});
