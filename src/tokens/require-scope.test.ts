import { EventEmitter } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { createRequestWatch } from './require-scope.ts';

test('a client that left while its token was looked up ends the watch at once, and its token is not looked up again', async () => {
  jest.useFakeTimers();
  try {
    const verifyToken = jest.fn(async () => undefined);
    const request = { headers: {} } as Request;
    const response = Object.assign(new EventEmitter(), { destroyed: true }) as unknown as Response;
    const { signal } = createRequestWatch({ verifyToken, interval: 1000 })(request, response);
    expect(signal.reason).toMatchObject({ message: 'The client disconnected.' });
    await jest.advanceTimersByTimeAsync(5000);
    expect(verifyToken).not.toHaveBeenCalled();
  } finally {
    jest.useRealTimers();
  }
});
