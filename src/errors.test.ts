import { expect, test } from '@jest/globals';
import { errors } from './errors.ts';

test('codes and titles are unique', () => {
  for (const part of ['code', 'title'] as const) {
    const values = Object.values(errors).map((error) => error[part]);
    expect(new Set(values).size).toBe(values.length);
  }
});
