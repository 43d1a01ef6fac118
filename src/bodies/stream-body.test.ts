import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { streamBody } from './stream-body.ts';

const start = () => {
  const request = Object.assign(new Readable({ read: () => {} }), { socket: { resume: () => {} } });
  const response = Object.assign(new EventEmitter(), { destroyed: false, locals: {} as Response['locals'] });
  const stopping = new AbortController();
  const body = streamBody(request as unknown as Request, response as unknown as Response, {
    pauseTimeout: 60_000,
    signal: stopping.signal,
  });
  return { request, response, stopping, body };
};

type Started = ReturnType<typeof start>;

test.each([
  ['the client disconnects', ({ response }: Started) => response.emit('close'), 'The client disconnected.'],
  ['the service stops', ({ stopping }: Started) => stopping.abort(new Error('Stopping')), 'Stopping'],
  [
    'Node.js cannot parse the rest',
    ({ response }: Started) => response.locals.failBody?.(new Error('Not HTTP')),
    'Not HTTP',
  ],
])(
  'a body fails at once if %s while its last piece is used',
  async (_title, fail, message) => {
    const started = start();
    started.request.push('piece');
    expect(String((await started.body.next()).value)).toBe('piece');
    fail(started);
    await expect(started.body.next()).rejects.toThrow(message);
  },
  5000,
);
