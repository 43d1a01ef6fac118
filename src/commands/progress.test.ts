import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { describeProgress, showProgress } from './progress.ts';

test.each([
  [{ rows: 0 }, 0, '0 rows  0 rows/s'],
  [{ rows: 12_345 }, 10, '12,345 rows  1,235 rows/s'],
  [{ rows: 0, share: 0 }, 1, '[--------------------]    0 %  0 rows  0 rows/s'],
  [{ rows: 250_000, share: 0.25 }, 5, '[#####---------------]   25 %  250,000 rows  50,000 rows/s  0:15 left'],
  [{ rows: 1000, share: 0.01 }, 100, '[--------------------]    1 %  1,000 rows  10 rows/s  2:45:00 left'],
  [{ rows: 4, share: 1 }, 2, '[####################]  100 %  4 rows  2 rows/s'],
])('%j after %d s', (progress, seconds, expected) => {
  expect(describeProgress(progress, seconds)).toBe(expected);
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

  test('writes a line every 10 s where there is no terminal', () => {
    const written: string[] = [];
    const end = showProgress({ read: () => ({ rows: 5 }), output: outputTo(written, false) });
    jest.advanceTimersByTime(20_000);
    end();
    jest.advanceTimersByTime(20_000);
    expect(written).toEqual([expect.stringMatching(/^5 rows {2}.*\n$/), expect.stringMatching(/^5 rows {2}.*\n$/)]);
  });

  test('keeps one line of a terminal, and clears it at the end', () => {
    const written: string[] = [];
    const end = showProgress({ read: () => ({ rows: 5, share: 0.5 }), output: outputTo(written, true) });
    jest.advanceTimersByTime(400);
    end();
    expect(written).toEqual(
      ['\r\x1b[K[##########---------', '\r\x1b[K[##########---------', '\r\x1b[K'].map((line) => line.slice(0, 23)),
    );
  });
});
