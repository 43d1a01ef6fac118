import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { migrationNames, migrationsFolder } from './migration-state.ts';

test.each(migrationNames)('%s can be divided into statements, and does not end its transaction', (name) => {
  const script = readFileSync(join(migrationsFolder, name, 'migration.sql'), 'utf8');
  expect(script).not.toMatch(/;[ \t]*--|--.*;[ \t]*$|\$\w*\$/m);
  expect(script).not.toMatch(/^\s*(BEGIN|START|COMMIT|END|ROLLBACK|ABORT)\b/im);
});
