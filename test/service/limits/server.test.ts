import { EventEmitter, once } from 'node:events';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { createBodyReader } from '../../../src/bodies/read-json-body.ts';
import { createPieceLimit, streamBody } from '../../../src/bodies/stream-body.ts';
import { createByteBudget, type Hold } from '../../../src/http/byte-budget.ts';
import { createConnections } from '../../../src/server/connections.ts';
import { createLingering } from '../../../src/server/lingering.ts';
import { edge, limitOf } from '../../support/limits/edge.ts';
import { useRawConnections } from '../../support/raw-connections.ts';
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
  edge('server/lingering.ts MAX_LINGERING', 'is closed before an older one whose client still reads its response', {
    is: [[], [], [1]],
    of: (count) => {
      const lingering = createLingering();
      const sockets = many(count, () => new Socket());
      for (const [index, socket] of sockets.entries())
        if (index === 0) lingering.discardInput(socket);
        else lingering.add(socket);
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

describe('bodies and responses', () => {
  const heldIn = (count: number, bytesOf: (index: number) => number) => {
    const { hold } = createByteBudget({ limit: limitOf('RequestLimits heldBytes') });
    const drops = many(count, () => jest.fn());
    for (const [index, drop] of drops.entries()) {
      const response = Object.assign(new EventEmitter(), { destroyed: false, locals: { client: '192.0.2.1' } });
      hold(response as unknown as Response, { kind: 'responses', bytes: bytesOf(index), drop });
    }
    return drops.map(({ mock }) => mock.calls.length);
  };
  edge('RequestLimits heldBytes', 'hold 48 MiB at most, then the oldest is dropped', {
    is: [
      [0, 0],
      [0, 0],
      [1, 0],
    ],
    of: (bytes) => heldIn(2, (index) => [1000, bytes - 1000][index] ?? 0),
  });
});

describe('bodies', () => {
  const start = (pieces: string[], hold: Hold = () => {}) => {
    const request = Object.assign(new Readable({ read: () => {} }), {
      headers: { 'content-type': 'application/json' },
    });
    for (const piece of pieces) request.push(piece);
    if (pieces.length > 0) request.push(null);
    const response = Object.assign(new EventEmitter(), { destroyed: false, locals: {} });
    const read = createBodyReader({ limit: 2 ** 20, timeout: 3000, hold });
    const outcome = read(request as unknown as Request, response as unknown as Response, z.unknown()).then(
      () => 'read',
      ({ code }) => code,
    );
    return { request, outcome, close: () => response.emit('close') };
  };

  edge('bodies/stream-body.ts FREE_PIECES', 'may come in 1000 pieces of any size', {
    is: ['read', 'read', 1002],
    of: (count) => start(many(count, () => '1')).outcome,
  });
  edge('bodies/stream-body.ts MIN_AVERAGE_PIECE', 'may come in more pieces of at least 64 bytes', {
    is: [1002, 'read', 'read'],
    of: (size) => start(many(1100, () => '1'.repeat(size))).outcome,
  });
  edge('bodies/stream-body.ts FREE_PIECES', 'that stream may come in 1000 pieces of any size', {
    is: [true, true, false],
    of: (count) => allows(count, ['']),
  });
  test('count with all that is reserved for them', async () => {
    const hold = jest.fn<Hold>();
    expect(await start(['12345', '1'.repeat(20_000)], hold).outcome).toBe('read');
    expect(hold.mock.calls.map(([, { bytes }]) => bytes)).toEqual([16_384, 2 ** 20, 20_005, 40_010]);
  });
  const allows = (count: number, pieces: string[]) => {
    const isAllowed = createPieceLimit({ hasLines: true });
    return many(count, () => pieces.map((piece) => isAllowed(Buffer.from(piece))))
      .flat()
      .every(Boolean);
  };
  edge('bodies/stream-body.ts PIECES_PER_LINE', 'that stream may come in two pieces for each line', {
    is: [true, true, false],
    of: (count) => allows(5000, [['xx\n'], ['xx', '\n'], ['x', 'x', '\n']][count - 1] ?? []),
  });
  edge('bodies/stream-body.ts MIN_LINE', 'that stream have lines of at least two characters', {
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
});

describe('a store', () => {
  const start = useTestServices();
  const metrics = { baseUrl: '' };
  const connect = useRawConnections(metrics);

  edge('observability/metrics-server.ts MAX_METRICS_CONNECTIONS', 'keeps 64 connections to the port of the metrics', {
    is: [63, 64, 64],
    of: async (count) => {
      const { metricsUrl, log } = await start({ METRICS_PORT: '0' });
      metrics.baseUrl = metricsUrl();
      const sockets = [];
      for (let opened = 0; opened < count; opened++) {
        const socket = await connect('GET /livez HTTP/1.1\r\nHost: store\r\n\r\n');
        sockets.push(socket);
        expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
      }
      await setTimeout(100);
      const full = log.filter(({ msg }) => msg.startsWith('the maximum number of connections is reached'));
      expect(full).toMatchObject(count > 64 ? [{ server: 'metrics', maxConnections: 64 }] : []);
      return sockets.filter(({ readableEnded, destroyed }) => !readableEnded && !destroyed).length;
    },
  });

  test.each([
    ['75', {}],
    ['620', { KEEP_ALIVE_TIMEOUT: '620s' }],
  ])('tells that a connection may be idle for %s s (KEEP_ALIVE_TIMEOUT)', async (seconds, environment) => {
    const service = await start(environment);
    const { headers } = await service.agent.get('/livez').set('Connection', 'keep-alive');
    expect(headers['keep-alive']).toBe(`timeout=${seconds}`);
  });
});
