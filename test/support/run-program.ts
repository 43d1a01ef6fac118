import { jest } from '@jest/globals';
import { runProgram as run } from '../../src/commands/run-program.ts';
import { runCommand } from './store-process.ts';

/**
 * Runs the command line within this process, which is faster; but `serve`, which listens to signals until its process ends, in
 * a process of its own. One at a time.
 * @param outputError the error of every write to standard output
 * @returns its output and its exit code
 */
export const runProgram = async (words: string[], environment: Record<string, string> = {}, outputError?: Error) => {
  if (words[0] === 'serve') return runCommand(words, environment);
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
  }
};
