import { EventEmitter } from 'node:events';
import { type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { createBodySlots } from '../../../src/bodies/body-slots.ts';
import { gatherBody } from '../../../src/bodies/gather-body.ts';
import { createPieceLimit } from '../../../src/bodies/piece-limit.ts';
import { streamBody } from '../../../src/bodies/stream-body.ts';
import { createOutputBudget } from '../../../src/http/send-json.ts';
import { createConnections } from '../../../src/server/connections.ts';
import { createLingering } from '../../../src/server/lingering.ts';
import { edge, limitOf } from '../../support/limits/edge.ts';
import { useTestServices } from '../../support/use-test-service.ts';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

const many = <Value>(count: number, create: (index: number) => Value) =>
  Array.from({ length: count }, (_, i) => create(i));

describe('a connection whose request is refused', () => {
  const lingerFor = (milliseconds: number, { isStopping = false } = {}) => {
    const lingering = createLingering();
    if (isStopping) lingering.stop();
    const socket = new Socket();
    lingering.add(socket);
    jest.advanceTimersByTime(milliseconds);
    // Node.js keeps this time by a clock of its own.
    if (milliseconds >= (socket.timeout ?? 0)) socket.emit('timeout');
    lingering.remove(socket);
    return socket.destroyed;
  };

  edge('server/lingering.ts LINGER_TIMES.idle', 'may send nothing for five seconds', {
    is: [false, true, true],
    of: (milliseconds) => lingerFor(milliseconds),
  });
  edge('server/lingering.ts STOPPING_TIME', 'may send nothing for a second while the server stops', {
    is: [false, true, true],
    of: (milliseconds) => lingerFor(milliseconds, { isStopping: true }),
  });
  edge('server/lingering.ts LINGER_TIMES.total', 'may send its rest for 30 seconds', {
    is: [false, true, true],
    of: (milliseconds) => {
      const lingering = createLingering();
      const socket = new Socket();
      lingering.add(socket);
      for (let passed = 0; passed + 4000 < milliseconds; passed += 4000) {
        jest.advanceTimersByTime(4000);
        socket.emit('data', Buffer.from('x'));
      }
      jest.advanceTimersByTime(milliseconds % 4000 || 4000);
      socket.emit('data', Buffer.from('x'));
      const { destroyed } = socket;
      lingering.remove(socket);
      return destroyed;
    },
  });
  edge('server/lingering.ts MAX_LINGERING', 'is closed at once, the oldest first, if there are more than 256', {
    is: [[], [], [0]],
    of: (count) => {
      const lingering = createLingering();
      const sockets = many(count, () => new Socket());
      for (const socket of sockets) lingering.add(socket);
      for (const socket of sockets) lingering.remove(socket);
      return sockets.flatMap(({ destroyed }, index) => (destroyed ? [index] : []));
    },
  });
});

describe('connections', () => {
  edge('server/connections.ts WARNING_INTERVAL', 'are warned about once a minute while there are too many', {
    is: [1, 2, 2],
    of: (milliseconds) => {
      const warn = jest.fn();
      const connections = createConnections({
        maxConnections: 1,
        requestTimeout: 1000,
        logger: { warn, info: jest.fn() },
      });
      const add = () => connections.add(new Socket());
      add();
      for (let count = 0; count < 10; count++) add();
      jest.advanceTimersByTime(milliseconds);
      for (let count = 0; count < 10; count++) add();
      return warn.mock.calls.length;
    },
  });
});

describe('responses', () => {
  edge('RequestLimits outputBytes', 'that wait may take 32 MiB, then the oldest is cut off', {
    is: [false, false, true],
    of: (bytes) => {
      const budget = createOutputBudget({ limit: limitOf('RequestLimits outputBytes') });
      const create = () => new ServerResponse({ method: 'GET' } as IncomingMessage);
      const [oldest, newest] = [create(), create()];
      budget.hold(oldest, 1000);
      budget.hold(newest, bytes - 1000);
      return oldest.destroyed;
    },
  });
});

describe('bodies', () => {
  const start = (pieces: string[], headers: Record<string, string> = {}) => {
    const request = Object.assign(new Readable({ read: () => {} }), { headers, socket: { resume: () => {} } });
    for (const piece of pieces) request.push(piece);
    if (pieces.length > 0) request.push(null);
    const response = Object.assign(new EventEmitter(), { destroyed: false });
    const slots = createBodySlots({ count: 1 });
    const options = { limit: 2 ** 20, timeout: 3000, slots };
    const body = gatherBody(request as unknown as Request, response as unknown as Response, options);
    const outcome = body.then(
      () => 'read',
      ({ code }) => code,
    );
    return { request, outcome, slots, close: () => response.emit('close') };
  };
  const claim = () => ({ onGranted: () => {}, onLost: jest.fn() });

  edge(
    'bodies/gather-body.ts SMALL_BODY',
    'need a slot if they have more than 16 KiB, by their header or as they arrive',
    {
      is: [
        [0, 0],
        [0, 0],
        [1, 1],
      ],
      of: async (size) => {
        const announced = start([], { 'content-length': String(size) });
        const arriving = start([]);
        arriving.request.push('x'.repeat(size));
        await setImmediate();
        const held = [announced.slots.inUse(), arriving.slots.inUse()];
        announced.close();
        arriving.close();
        return held;
      },
    },
  );
  edge('bodies/gather-body.ts FREE_PIECES', 'may come in 1000 pieces of any size', {
    is: ['read', 'read', 1002],
    of: (count) => start(many(count, () => 'x')).outcome,
  });
  edge('bodies/gather-body.ts MIN_AVERAGE_PIECE', 'may come in more pieces of at least 64 bytes', {
    is: [1002, 'read', 'read'],
    of: (size) => start(many(1100, () => 'x'.repeat(size))).outcome,
  });
  const allows = (count: number, pieces: string[]) => {
    const limit = createPieceLimit({ hasLines: true });
    return many(count, () => pieces.map((piece) => limit.add(Buffer.from(piece))))
      .flat()
      .every(Boolean);
  };
  edge('bodies/gather-body.ts FREE_PIECES', 'that stream may come in 1000 pieces of any size', {
    is: [true, true, false],
    of: (count) => allows(count, ['']),
  });
  edge('bodies/piece-limit.ts PIECES_PER_LINE', 'that stream may come in two pieces for each line', {
    is: [true, true, false],
    of: (count) => allows(5000, [['xx\n'], ['xx', '\n'], ['x', 'x', '\n']][count - 1] ?? []),
  });
  edge('bodies/piece-limit.ts MIN_LINE', 'that stream have lines of at least two characters', {
    is: [false, true, true],
    of: (length) => allows(5000, ['x'.repeat(length), '\n']),
  });
  edge('bodies/stream-body.ts MAX_MERGED', 'that stream are handed on in pieces of at most 64 KiB', {
    is: [true, true, false],
    of: async (size) => {
      const request = Object.assign(new Readable({ read: () => {} }), { socket: { resume: () => {} } });
      const body = streamBody(request as unknown as Request, { signal: new AbortController().signal });
      request.push('x'.repeat(size - 1));
      request.push('x');
      request.push(null);
      return (await Array.fromAsync(body)).length === 1;
    },
  });
  edge('setting REQUEST_TIMEOUT', 'may take REQUEST_TIMEOUT, also if they arrive byte by byte', {
    value: 3000,
    is: [1000, 1203, 1203],
    of: async (milliseconds) => {
      const { request, outcome, close } = start([]);
      for (let passed = 0; passed < milliseconds; passed += 500) {
        request.push('x');
        await jest.advanceTimersByTimeAsync(Math.min(500, milliseconds - passed));
        await setImmediate();
      }
      close();
      return outcome;
    },
  });
  edge('bodies/body-slots.ts MIN_HOLD_TIME', 'lose their slots after two seconds, if others wait', {
    is: [0, 1, 1],
    of: (milliseconds) => {
      const slots = createBodySlots({ count: 1 });
      const slow = claim();
      const releases = [slots.take(slow), slots.take(claim())];
      jest.advanceTimersByTime(milliseconds);
      const lost = slow.onLost.mock.calls.length;
      for (const release of releases.reverse()) release();
      jest.advanceTimersByTime(1000);
      return lost;
    },
  });
  edge('bodies/body-slots.ts MAX_WAITING', 'that wait for a slot may be 64', {
    is: [0, 0, 1],
    of: (count) => {
      const slots = createBodySlots({ count: 1 });
      const last = claim();
      const releases = [slots.take(claim()), ...many(count - 1, () => slots.take(claim())), slots.take(last)];
      for (const release of releases.reverse()) release();
      jest.advanceTimersByTime(1000);
      return last.onLost.mock.calls.length;
    },
  });
  edge('bodies/body-slots.ts MAX_UNPARSED', 'that wait to be parsed may be 256', {
    is: [undefined, undefined, 1500],
    of: async (count) => {
      const { parseInTurn } = createBodySlots({ count: 1 });
      const parsed = many(count, (index) => parseInTurn(async () => index));
      const [last] = await Promise.allSettled(parsed.slice(-1));
      await Promise.allSettled(parsed);
      expect(await parseInTurn(async () => 'next')).toBe('next');
      return last?.status === 'rejected' ? last.reason.code : undefined;
    },
  });
});

describe('a store', () => {
  const start = useTestServices();

  test.each([
    ['75', {}],
    ['620', { KEEP_ALIVE_TIMEOUT: '620s' }],
  ])('tells that a connection may be idle for %s s (KEEP_ALIVE_TIMEOUT)', async (seconds, environment) => {
    const service = await start(environment);
    const { headers } = await service.agent.get('/livez').set('Connection', 'keep-alive');
    expect(headers['keep-alive']).toBe(`timeout=${seconds}`);
  });
});
