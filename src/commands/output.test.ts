import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { describeProgress, note, showProgress } from './output.ts';

test.each([
  [[0], 0, '0 rows  0 rows/s'],
  [[12_345], 10, '12,345 rows  1,235 rows/s'],
  [[0, 0], 1, '[--------------------]    0 %  0 rows  0 rows/s'],
  [[250_000, 0.25], 5, '[#####---------------]   25 %  250,000 rows  50,000 rows/s  0:15 left'],
  [[1000, 0.01], 100, '[--------------------]    1 %  1,000 rows  10 rows/s  2:45:00 left'],
  [[4, 1], 2, '[####################]  100 %  4 rows  2 rows/s'],
])('%j after %d s', ([rows = 0, share], seconds, expected) => {
  expect(describeProgress(seconds, rows, share)).toBe(expected);
});

describe('showProgress', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const outputTo = (written: string[], isTTY: boolean) => ({
    isTTY,
    columns: 20,
    write: (text: string | Uint8Array) => written.push(String(text)) > 0,
  });

  test('writes a line every 10 s where there is no terminal', async () => {
    const written: string[] = [];
    const shown = showProgress((seconds) => describeProgress(seconds, 5), outputTo(written, false));
    await jest.advanceTimersByTimeAsync(20_000);
    shown[Symbol.dispose]();
    await jest.advanceTimersByTimeAsync(20_000);
    expect(written).toEqual([expect.stringMatching(/^5 rows {2}.*\n$/), expect.stringMatching(/^5 rows {2}.*\n$/)]);
  });

  test('keeps one line of a terminal, and clears it at the end', async () => {
    const written: string[] = [];
    const shown = showProgress((seconds) => describeProgress(seconds, 5, 0.5), outputTo(written, true));
    await jest.advanceTimersByTimeAsync(400);
    shown[Symbol.dispose]();
    expect(written).toEqual(
      ['\r\x1b[K[##########---------', '\r\x1b[K[##########---------', '\r\x1b[K'].map((line) => line.slice(0, 23)),
    );
  });
});

test('a note has no control characters of a file or of another server', () => {
  const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  note('\x1b]0;title\x07\x9b2J: a\tb\nc\rd é');
  const [[text] = []] = write.mock.calls;
  write.mockRestore();
  expect(text).toBe('\\u001b]0;title\\u0007\\u009b2J: a\tb\nc\\u000dd é\n');
});
