import { writeFile } from 'node:fs/promises';
import { afterEach, describe, jest } from '@jest/globals';
import { parseExpiry, parsePort, parseTokenName } from '../../../src/commands/option-parsers.ts';
import { showProgress } from '../../../src/commands/output.ts';
import { createDurabilityWatch } from '../../../src/database/inspect-database.ts';
import { edge, limitOf, succeeds } from '../../support/limits/edge.ts';
import { runProgram } from '../../support/run-program.ts';
import { useRemoteCommands } from '../../support/use-remote-commands.ts';

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
  const { service, path, run } = useRemoteCommands();

  edge('commands/import-command.ts MAX_SHOWN', 'prints at most ten failed rows, and how many more there are', {
    is: [
      [9, false],
      [10, false],
      [10, true],
    ],
    of: async (count) => {
      const file = path('failed.ndjson');
      await writeFile(file, '{}\n'.repeat(count));
      const lines = (await run(['import', file])).stderr.split('\n');
      return [
        lines.filter((line) => line.startsWith(file)).length,
        lines.some((line) => /^and .* more failed rows/.test(line)),
      ];
    },
  });
  edge('commands/import-files.ts MAX_ARRAY_BYTES', 'reads a JSON array of at most so many bytes, both ways', {
    is: [
      [0, 0],
      [0, 0],
      [1, 1],
    ],
    of: async (size) => {
      const file = path('plants.json');
      await writeFile(file, '[{"id":1,"name":"Fir"}'.padEnd(size - 1).concat(']'));
      const words = ['import', file, '--on-conflict', 'replace'];
      const direct = await runProgram(words, { DATABASE_URL: service.database.url });
      return [direct.code, (await run(words)).code];
    },
  });
});

describe('a command that takes long', () => {
  const linesAfter = async (milliseconds: number, isTTY: boolean) => {
    jest.useFakeTimers();
    const written: unknown[] = [];
    const shown = showProgress(() => 'x', { isTTY, write: (text) => written.push(text) > 0 });
    await jest.advanceTimersByTimeAsync(milliseconds);
    const { length } = written;
    shown[Symbol.dispose]();
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
