import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

test('every generated file is current (if not: npm run generate)', () => {
  const outdated = execFileSync(process.execPath, ['docs/generate/main.ts', '--check'], { encoding: 'utf8' });
  expect(outdated).toBe('');
});

test('openapi-types.ts was generated from the current openapi.json (if not: npm run generate)', () => {
  const [head = '', ...lines] = readFileSync('client/openapi-types.ts', 'utf8').split('\n');
  const hash = createHash('sha256').update(readFileSync('openapi.json')).update(lines.join('\n')).digest('hex');
  expect(head).toContain(`SHA-256 of both: ${hash}`);
});

test('the client depends on the version of openapi-fetch that its tests use', () => {
  const versionIn = (path: string, kind: string) => JSON.parse(readFileSync(path, 'utf8'))[kind]['openapi-fetch'];
  expect(versionIn('client/package.json', 'dependencies')).toBe(versionIn('package.json', 'devDependencies'));
});
