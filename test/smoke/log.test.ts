import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';

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
