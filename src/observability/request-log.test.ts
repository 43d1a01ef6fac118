import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { pino } from 'pino';
import { type ErrorKind, StoreError } from '../errors.ts';
import { createRequestLog } from './request-log.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const start = () => {
  const lines: { level: string; msg: string; error?: number; err?: { stack: string }; requests?: number }[] = [];
  const formatters = { level: (level: string) => ({ level }) };
  const logger = pino(
    { base: null, formatters, timestamp: false },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const log = createRequestLog(logger);
  const fail = (kind: ErrorKind, cause = new Error('the cause')) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { originalUrl: '/plants' }) as unknown as Request;
    const response = new ServerResponse(request) as unknown as Response;
    response.locals = { error: new StoreError(kind) };
    response.err = cause;
    response.statusCode = 503;
    log(request, response, () => {});
    response.emit('close');
  };
  return { lines, fail, withCause: () => lines.filter(({ err }) => err?.stack.includes('the cause')) };
};

const times = (count: number, run: () => void) => {
  for (let time = 0; time < count; time++) run();
};

test('an outage: each request has a short line, 100 in a second, and the first of them its cause', () => {
  const { lines, fail, withCause } = start();
  times(100, () => fail('databaseUnreachable'));
  expect([lines.length, withCause()]).toEqual([100, [lines[0]]]);
  expect(new Set(lines.slice(1).map((line) => JSON.stringify(line).length < 250))).toEqual(new Set([true]));
  times(150, () => fail('databaseUnreachable'));
  expect(lines).toHaveLength(100);
  jest.advanceTimersByTime(999);
  expect(lines).toHaveLength(100);
  jest.advanceTimersByTime(1);
  expect(lines.splice(100)).toEqual([
    { level: 'error', error: 1501, requests: 150, msg: 'more requests failed in this second' },
  ]);
  fail('databaseUnreachable');
  expect(withCause()).toHaveLength(2);
  jest.advanceTimersByTime(1000);
  expect(lines).toHaveLength(101);
});

test('exactly 100 failures in a second are not summed up', () => {
  const { lines, fail } = start();
  times(100, () => fail('databaseUnreachable'));
  jest.advanceTimersByTime(1000);
  expect(lines).toHaveLength(100);
});

test('an outage does not hide another error', () => {
  const { lines, fail } = start();
  times(200, () => fail('databaseUnreachable'));
  fail('internal');
  expect(lines.at(-1)).toMatchObject({ error: 1599, err: { stack: expect.any(String) } });
});

test('each bug has its cause, since the response says that the log has it', () => {
  const { fail, withCause } = start();
  fail('internal', new Error('the cause of one'));
  fail('internal', new Error('the cause of another'));
  expect(withCause()).toHaveLength(2);
});

test('a request that may have changed something always has a line', () => {
  const { lines, fail } = start();
  times(200, () => fail('databaseUnreachable', Object.assign(new Error(), { name: 'OutcomeUnknownError' })));
  expect(lines).toHaveLength(200);
});

test('overload has a line for each request, without a cause', () => {
  const { lines, fail, withCause } = start();
  times(200, () => fail('overloaded'));
  expect([lines.length, new Set(lines.map(({ level }) => level)), withCause()]).toEqual([200, new Set(['warn']), []]);
});
