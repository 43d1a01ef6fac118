import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { testUnless } from '../support/skip.ts';

/** Of some 70 bytes: more than one write of 16 KiB, which is under way when the process ends, and less than two. */
const LINES = 300;

test('a process that ends has written all lines of its log, whatever was under way', () => {
  const code = `
    const { createLog } = await import('./src/observability/logger.ts');
    const { logger, flush } = createLog({ level: 'info', format: 'json' });
    for (let line = 0; line < ${LINES}; line++) logger.info({ line }, 'x');
    await flush();
    process.exit(0);`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  const lines = output.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).line)).toEqual(Array.from({ length: LINES }, (_, line) => line));
});

test('a process ends although nobody reads its log', async () => {
  const code = `
    const { createLog } = await import('./src/observability/logger.ts');
    const { logger, flush } = createLog({ level: 'info', format: 'json' });
    for (let line = 0; line < 10_000; line++) logger.info({ line }, 'x');
    await flush();
    process.exit(0);`;
  const words = ['--input-type=module', '--eval', code];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'], timeout: 30_000 });
  expect(await once(child, 'exit')).toEqual([0, null]);
  child.stdout.destroy();
});

const noFullDevice = existsSync('/dev/full') ? undefined : 'this system has no /dev/full';
testUnless(noFullDevice, 'a process ends after a fatal line that the disk has no room for', async () => {
  const code = `
    const { createLog } = await import('./src/observability/logger.ts');
    const { logger, flush } = createLog({ level: 'info', format: 'json' });
    logger.fatal('x');
    await flush();
    process.exit(0);`;
  const full = openSync('/dev/full', 'w');
  try {
    const stdio = ['ignore', full, 'pipe'] as const;
    execFileSync(process.execPath, ['--input-type=module', '--eval', code], { stdio: [...stdio], timeout: 30_000 });
  } finally {
    closeSync(full);
  }
});

test('a readable event has one line, whatever it says', () => {
  const code = `
    const { createLog } = await import('./src/observability/logger.ts');
    const { logger, flush } = createLog({ level: 'info', format: 'pretty' });
    logger.info({ port: 3000, basePath: '' }, 'listening');
    await flush();`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
  expect(output).toMatch(/^.*listening.*"port":3000.*\n$/);
});
