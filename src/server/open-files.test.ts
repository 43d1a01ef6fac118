import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const script = `const { maxClientConnections } = await import(${JSON.stringify(join(import.meta.dirname, 'open-files.ts'))});
console.log(maxClientConnections());`;

test.each([
  [64, 32],
  [1000, 800],
])('with %i open files, there are %i connections of clients', (files, connections) => {
  const { stdout } = spawnSync('sh', ['-c', `ulimit -n ${files}; exec "$0" --eval "$1"`, process.execPath, script]);
  expect(Number(stdout)).toBe(process.platform === 'linux' ? connections : Number.POSITIVE_INFINITY);
});
