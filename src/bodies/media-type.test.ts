import { expect, test } from '@jest/globals';
import { readContentType } from './media-type.ts';

const TYPES = ['application/json', 'application/merge-patch+json', 'application/x-ndjson', 'text/csv'] as const;
const JSON_TYPES = TYPES.slice(0, 2);

test.each(JSON_TYPES)('%s is UTF-8, by any of its labels, and ASCII', (type) => {
  for (const parameter of ['', '; charset=UTF-8', '; charset="utf8"', '; charset=US-ASCII'])
    expect(readContentType(TYPES, type + parameter)).toEqual({ type, encoding: 'utf-8' });
  for (const label of ['windows-1252', 'utf-16', 'klingon'])
    expect(() => readContentType(TYPES, `${type}; charset=${label}`)).toThrow(
      `The charset of ${type} must be utf-8, not "${label}".`,
    );
});

test.each(TYPES.slice(2))('%s may have any encoding of the standard', (type) => {
  expect(readContentType(TYPES, `${type}; charset=latin1`)).toEqual({ type, encoding: 'windows-1252' });
  expect(() => readContentType(TYPES, `${type}; charset=klingon`)).toThrow('must be a label of the Encoding standard');
});
