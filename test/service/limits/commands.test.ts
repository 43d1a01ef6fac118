import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, describe, jest } from '@jest/globals';
import { Command } from 'commander';
import { addImportCommand } from '../../../src/commands/import-command.ts';
import { parseExpiry, parsePort, parseTokenName } from '../../../src/commands/option-parsers.ts';
import { showProgress } from '../../../src/commands/output.ts';
import { readConfig } from '../../../src/config/config.ts';
import { createDurabilityWatch } from '../../../src/database/inspect-database.ts';
import { readJson } from '../../../src/imports/read-json.ts';
import { edge, limitOf, succeeds } from '../../support/limits/edge.ts';
import { useTestDatabase } from '../../support/use-test-database.ts';

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('an option', () => {
  edge('setting PORT', '--port is at most 65535', {
    value: 65_535,
    is: [true, true, false],
    of: (port) => succeeds(() => parsePort(String(port))),
  });
  edge('commands/option-parsers.ts {0,63}', 'that names a token has at most 64 characters', {
    is: [true, true, false],
    of: (more) => succeeds(() => parseTokenName(`x${'y'.repeat(more)}`)),
  });
  edge('commands/option-parsers.ts MAX_VALIDITY', '--expires is at most a century', {
    value: limitOf('commands/option-parsers.ts MAX_VALIDITY') / 86_400_000,
    is: [true, true, false],
    of: (days) => succeeds(() => parseExpiry(`${days}d`)),
  });
});

describe('the command import', () => {
  const database = useTestDatabase();

  edge('commands/import-command.ts MAX_SHOWN', 'prints at most ten failed rows, and how many more there are', {
    is: [
      [9, false],
      [10, false],
      [10, true],
    ],
    of: async (count) => {
      const file = join(tmpdir(), `failed-rows-${process.pid}.ndjson`);
      await writeFile(file, '{}\n'.repeat(count));
      const program = new Command().exitOverride();
      addImportCommand(program, { config: () => readConfig({ DATABASE_URL: database.url }), environment: {} });
      const printed = jest.spyOn(process.stderr, 'write').mockImplementation(() => true);
      jest.spyOn(process.stdout, 'write').mockImplementation((_text, ...rest) => {
        const done = rest.at(-1);
        if (typeof done === 'function') done();
        return true;
      });
      await program.parseAsync(['import', file], { from: 'user' }).catch(() => {});
      const lines = printed.mock.calls.map(([line]) => String(line));
      await rm(file);
      jest.restoreAllMocks();
      return [
        lines.filter((line) => line.startsWith(file)).length,
        lines.some((line) => /^and .* more failed rows/.test(line)),
      ];
    },
  });
  edge('commands/import-to-database.ts MAX_ARRAY_BYTES', 'reads a JSON array of at most so many bytes', {
    value: 100,
    is: [1, 1, 1002],
    of: (size) => {
      const text = `[{"id":1,"name":"${'x'.repeat(size - 20)}"}]`;
      return Array.fromAsync(readJson(Readable.from([text]), { maxBytes: 100 })).then(
        (turns) => turns.flat().length,
        ({ code }) => code,
      );
    },
  });
});

describe('a command that takes long', () => {
  const linesAfter = async (milliseconds: number, isTTY: boolean) => {
    jest.useFakeTimers();
    const written: unknown[] = [];
    const end = showProgress(() => 'x', { isTTY, write: (text) => written.push(text) > 0 });
    await jest.advanceTimersByTimeAsync(milliseconds);
    const { length } = written;
    end();
    return length;
  };

  edge('commands/output.ts TERMINAL_INTERVAL', 'shows its progress five times a second on a terminal', {
    is: [0, 1, 1],
    of: (milliseconds) => linesAfter(milliseconds, true),
  });
  edge('commands/output.ts LINE_INTERVAL', 'prints its progress every ten seconds elsewhere', {
    is: [0, 1, 1],
    of: (milliseconds) => linesAfter(milliseconds, false),
  });
});

edge('database/inspect-database.ts HOUR', 'an operator is warned of the same weakness once an hour', {
  is: [1, 2, 2],
  of: (milliseconds) => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    const warn = jest.fn();
    const see = createDurabilityWatch(warn);
    see('fsync = off');
    clock.mockReturnValue(milliseconds);
    see('fsync = off');
    return warn.mock.calls.length;
  },
});
