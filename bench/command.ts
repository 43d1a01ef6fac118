import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const REASON_LINES = 3;

/** An expected failure of the benchmark or of one of its targets. Its message is printed without a stack trace. */
export class BenchError extends Error {
  override name = 'BenchError';
}

/** Prints progress to standard error. Standard output holds only the report. */
export const say = (line: string): void => {
  process.stderr.write(`bench: ${line}\n`);
};

/** The message of any thrown value, on one line. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().replaceAll(/\s*\n\s*/g, ' · ');

type Command = {
  file: string;
  args: string[];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  /** Ends the program by SIGINT when this settles. */
  until?: Promise<unknown> | undefined;
};

const execute = promisify(execFile);

/**
 * Runs a program until it exits and returns what it printed.
 * @throws {BenchError} with the reason the program printed, if it cannot be started or fails
 */
export const runCommand = async ({ file, args, env, until, ...settings }: Command): Promise<string> => {
  const running = execute(file, args, { ...settings, env: { ...process.env, ...env }, maxBuffer: MAX_OUTPUT_BYTES });
  const interrupt = () => running.child.kill('SIGINT');
  until?.then(interrupt, interrupt);
  try {
    return (await running).stdout;
  } catch (error) {
    settings.signal?.throwIfAborted();
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new BenchError(findReason(stderr) || findReason(stdout) || message);
  }
};

/** Why a program failed, from its output: the first error line and those after it, or the last lines. No stack. */
export const findReason = (output: string): string => {
  const lines = output.split('\n').filter((line) => line.trim() && !/^\s+at /.test(line));
  const start = lines.findIndex((line) => /^\s*\w*Error\b|\berror:/i.test(line));
  return (start < 0 ? lines.slice(-REASON_LINES) : lines.slice(start, start + REASON_LINES)).join('\n').trim();
};

/** The first line of a program's version output, or undefined if the program is not installed. */
export const versionOf = async (file: string): Promise<string | undefined> => {
  // wrk prints its version with exit code 1.
  const { stdout, stderr, code } = await execute(file, ['--version']).catch((error) => error);
  return code === 'ENOENT' ? undefined : `${stdout}${stderr}`.split('\n')[0]?.trim();
};
