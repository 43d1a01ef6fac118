import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';

test('every generated file is current (if not: npm run generate)', () => {
  const outdated = execFileSync(process.execPath, ['docs/generate/main.ts', '--check'], { encoding: 'utf8' });
  expect(outdated).toBe('');
});
