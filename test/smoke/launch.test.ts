import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const run = promisify(execFile);

// The first line of bench/main.ts is a comment that has an option in it.
test('npm run bench starts', async () => {
  const { stdout } = await run(process.execPath, ['bin/bench.js', '--help']);
  expect(stdout).toMatch(/^npm run bench -- \[options\]\n/);
});
