import { expect, test } from '@jest/globals';
import { withSettings } from './connection-settings.ts';

const optionsOf = (url: string) => new URL(url).searchParams.get('options');

test('imports may use more memory than requests, and merge the search index earlier', () => {
  const url = 'postgresql://plants@localhost/plants';
  expect(optionsOf(withSettings(url, 'requests'))).toBe(
    '-c plan_cache_mode=force_custom_plan -c gin_pending_list_limit=65536',
  );
  expect(optionsOf(withSettings(url, 'bulk'))).toBe(
    '-c plan_cache_mode=force_custom_plan -c gin_pending_list_limit=32768 -c work_mem=131072',
  );
});

test('keeps the other parameters of the URL, and its own options, which come first', () => {
  const url = 'postgresql://pl%40nts:p%2Fw@localhost:5433/plants?sslmode=require&options=-c%20search_path%3Dgarden';
  const result = withSettings(url, 'requests');
  expect(result.startsWith('postgresql://pl%40nts:p%2Fw@localhost:5433/plants?sslmode=require&')).toBe(true);
  expect(optionsOf(result)).toMatch(/^-c search_path=garden -c plan_cache_mode=/);
});
