import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BenchError } from './bench-error.ts';

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

type Command = {
  file: string;
  args: string[];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  uid?: number | undefined;
  gid?: number | undefined;
  signal?: AbortSignal | undefined;
};

const execute = promisify(execFile);

/**
 * Runs a program to its end.
 * @throws {BenchError} with the reason that it wrote, where it cannot be run or fails
 */
export const runCommand = async ({ file, args, ...settings }: Command): Promise<{ stdout: string; stderr: string }> => {
  try {
    return await execute(file, args, { ...settings, maxBuffer: MAX_OUTPUT_BYTES });
  } catch (error) {
    settings.signal?.throwIfAborted();
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new BenchError(findReason(stderr) || findReason(stdout) || message);
  }
};

const REASON_LINES = 3;

/** Why a program gave up, from what it wrote: the line that says error and what follows, or the end. No stack. */
export const findReason = (text: string): string => {
  const lines = text.split('\n').filter((line) => line.trim() && !/^\s+at /.test(line));
  const start = lines.findIndex((line) => /^\s*\w*Error\b|\berror:/i.test(line));
  return (start < 0 ? lines.slice(-REASON_LINES) : lines.slice(start, start + REASON_LINES)).join('\n').trim();
};

/** The first line that a program says about its version, or undefined where it is not installed. */
export const versionOf = async (file: string, flag: string): Promise<string | undefined> => {
  // wrk prints its version with exit code 1.
  const { stdout, stderr, code } = await execute(file, [flag]).catch((error) => error);
  return code === 'ENOENT' ? undefined : `${stdout}${stderr}`.split('\n')[0]?.trim();
};
