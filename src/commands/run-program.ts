import { CommanderError } from 'commander';
import { readConfig } from '../config/config.ts';
import type { Settings } from './config-command.ts';
import { note, OutputError, print } from './output.ts';
import { createProgram } from './program.ts';
import { explainError } from './with-database.ts';

const EXIT_CODES = { success: 0, failure: 1, usageError: 2 };

/**
 * Runs one command. Writes its error to standard error.
 * @param words the command and its arguments
 * @returns the exit code
 */
export const runProgram = async (words: string[], settings: Settings): Promise<number> => {
  let help = '';
  const writeOut = (text: string) => {
    help += text;
  };
  try {
    await createProgram({ ...settings, writeOut })
      .parseAsync(words, { from: 'user' })
      .catch((error) => {
        // Commander throws after --help and --version too.
        if (!(error instanceof CommanderError && error.exitCode === 0)) throw error;
      });
    if (help !== '') await print(help);
    return EXIT_CODES.success;
  } catch (error) {
    if (error instanceof CommanderError) return EXIT_CODES.usageError;
    // The reader closed the pipe, as `| head -1` does.
    if (error instanceof OutputError && error.cause.code === 'EPIPE') return EXIT_CODES.success;
    note(explainError(error, () => readConfig(settings.environment)));
    return EXIT_CODES.failure;
  }
};
