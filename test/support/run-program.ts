import { jest } from '@jest/globals';
import { runProgram as run } from '../../src/commands/program.ts';
import { runCommand } from './store-process.ts';

/**
 * Runs the command line within this process, which is faster than a new one; `serve` gets a new one, since its listeners for
 * signals stay until the process ends. Only one call may run at a time.
 * @param outputError the error of every write to standard output
 * @returns its output and its exit code
 */
export const runProgram = async (words: string[], environment: Record<string, string> = {}, outputError?: Error) => {
  if (words[0] === 'serve') return runCommand(words, environment);
  if (jest.isMockFunction(process.stdout.write)) throw new Error('another call of runProgram is running');
  const { isTTY } = process.stderr;
  // Jest runs a single file in its own process, whose standard error may be a terminal, on which imports draw a bar.
  process.stderr.isTTY = false;
  const outputs = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((chunk, ...rest) => {
      outputs[name] += String(chunk);
      const done = rest.at(-1);
      if (typeof done === 'function') done(name === 'stdout' ? outputError : undefined);
      return true;
    }),
  );
  try {
    return { code: await run(words, { environment, fromFile: [] }), ...outputs };
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.stderr.isTTY = isTTY;
  }
};
