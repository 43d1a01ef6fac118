import { expect, test } from '@jest/globals';
import { withDatabase } from '../../src/commands/with-database.ts';
import { readConfig } from '../../src/config/config.ts';
import { useTestDatabase } from '../support/use-test-database.ts';

const database = useTestDatabase({ migrated: false });

test('a start that migrates creates the schema of ?schema=', async () => {
  const url = new URL(database.url);
  url.searchParams.set('schema', 'garden');
  const config = readConfig({ DATABASE_URL: url.href });
  const applied = await withDatabase(config, async (_url, _databases, names) => names, { migrates: true });
  expect(applied).not.toEqual([]);
  expect(await database.query("SELECT schemaname FROM pg_tables WHERE tablename = 'plants'")).toEqual([
    { schemaname: 'garden' },
  ]);
});
