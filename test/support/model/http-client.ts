import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Leave } from './operations.ts';
import type { HttpRequest } from './requests.ts';

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string };

/** Codes of answers after which nothing was changed, and the request is sent again. */
const TRY_AGAIN = ['503 1500'];
const MAX_ATTEMPTS = 20;
/** Requests wait at least so long for a locked plant, in ms. To give up sooner is a fault: no queue is full here. */
const SOONEST = 300;
/** They have slots, which become free some time after a client has left. */
const BULK = /^\/plants\/(import|export)/;
/** Between attempts, in ms. */
const PAUSE = 25;

/** A client with connections of its own to both instances. */
export const createHttpClient = (ports: readonly number[]) => {
  const agent = new Agent({ keepAlive: true });
  let repeated = 0;

  const exchange = (port: number, { method, path, headers, body }: HttpRequest): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent }, async (response) => {
        let text = '';
        try {
          for await (const chunk of response.setEncoding('utf8')) text += chunk;
          resolve({ status: response.statusCode as number, headers: response.headers, text });
        } catch (error) {
          reject(error);
        }
      });
      request.on('error', reject).end(body);
    });

  return {
    /** How often requests were sent again. */
    repeated: () => repeated,
    /** Sends a request, and again if the store was too busy. */
    send: async (instance: number, request: HttpRequest): Promise<Answer> => {
      for (let attempt = 1; ; attempt++) {
        const startedAt = performance.now();
        const answer = await exchange(ports[instance] as number, request);
        const mayBeBusy = performance.now() >= startedAt + SOONEST || BULK.test(request.path);
        const isBusy = TRY_AGAIN.includes(`${answer.status} ${errorOf(answer)}`);
        if (!isBusy || !mayBeBusy || attempt === MAX_ATTEMPTS) return answer;
        repeated += 1;
        await setTimeout(PAUSE);
      }
    },
    /**
     * Sends a request on a connection of its own, and leaves.
     * @param next what else to do meanwhile
     */
    leave: async <Result>(
      instance: number,
      request: HttpRequest,
      how: Leave,
      next: () => Promise<Result>,
    ): Promise<Result> => {
      const bytes = toBytes(request);
      const socket = connect(ports[instance] as number, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      // The last bytes belong to the body, or end the header.
      socket.write(how === 'before the end' ? bytes.subarray(0, -2) : bytes);
      const { turns, by } = how === 'before the end' ? { turns: 2, by: 'end' } : how;
      await pass(turns >> 1);
      const leave = async () => {
        await pass(turns - (turns >> 1));
        if (by === 'reset') socket.resetAndDestroy();
        else socket.destroy();
      };
      const [result] = await Promise.all([next(), leave()]);
      return result;
    },
    close: () => agent.destroy(),
  };
};

export type HttpClient = ReturnType<typeof createHttpClient>;

/** The code of an Error; undefined for other bodies. */
export const errorOf = ({ status, text }: Answer): number | undefined => {
  if (status < 400 || text === '') return undefined;
  return JSON.parse(text).error;
};

/** Lets other work go on for some turns of the event loop. */
const pass = async (turns: number) => {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
};

const toBytes = ({ method, path, headers, body }: HttpRequest): Buffer => {
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const fields = Object.entries({ Host: 'x', ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${fields.join('')}\r\n${body ?? ''}`);
};
