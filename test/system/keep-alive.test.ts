import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren } from '../support/children.ts';
import { haproxyObstacle, startHaproxy } from '../support/haproxy.ts';
import { scrape } from '../support/scrape.ts';
import { testUnless } from '../support/skip.ts';
import { startStore } from '../support/store-process.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { useTestService } from '../support/use-test-service.ts';

const REQUESTS = 10_000;
/** More than the system takes at once, so that the end of a response is sent later than its start. */
const LARGE = '/docs/swagger-ui-bundle.js';
const LARGE_REQUESTS = 200;

const folder = useDataFolder();
/** Its database and token. The store is a process of its own, so that its clients send while it works. */
const service = useTestService();
let url: string;
let metricsUrl: string;
beforeEach(async () => {
  await service.database.query('TRUNCATE plants');
  const METRICS_PORT = String(await freePort());
  metricsUrl = `http://127.0.0.1:${METRICS_PORT}/metrics`;
  const environment = { DATA_DIR: folder.path, DATABASE_URL: service.database.url, METRICS_PORT };
  url = (await startStore(environment)).url;
});
afterEach(killChildren);

/** Sends requests on one connection, each in the moment in which the last byte of the response before it arrives. @returns their statuses */
const converse = async (port: number, requests: Iterable<string>) => {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  const statuses = new Map<number, number>();
  const iterator = requests[Symbol.iterator]();
  const sendNext = () => {
    const { done, value } = iterator.next();
    if (done) socket.end();
    else socket.write(value);
  };
  let head = '';
  let left = 0;
  socket.on('data', (bytes: Buffer) => {
    if (left === 0) {
      head += bytes.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end === -1) return;
      const status = Number(head.slice(9, 12));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      left = Number(/^content-length: (\d+)/im.exec(head)?.[1]) - (head.length - end - 4);
      head = '';
    } else left -= bytes.length;
    if (left === 0) sendNext();
  });
  await once(socket, 'connect');
  sendNext();
  await once(socket, 'close');
  return statuses;
};

function* posts(first: number, count: number) {
  const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\n`;
  for (let id = first; id < first + count; id++) {
    const body = `{"id":${id},"name":"Fir"}`;
    yield `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  }
}

function* pages(count: number) {
  // A request that is answered before its body arrives, one with a large response, and one that is answered at once.
  const large = `GET ${LARGE} HTTP/1.1\r\nHost: x\r\n\r\n`;
  for (let turn = 0; turn < count; turn++)
    yield* [
      large,
      `PUT /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`,
      'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
    ];
}

const expectNoneEarly = async () => {
  const { value } = await scrape(metricsUrl);
  expect(value('plant_store_http_early_requests_total')).toBe(0);
};

const checkAll = async (port: number) => {
  for (const connections of [1, 64]) {
    const each = Math.ceil(REQUESTS / connections);
    const all = Array.from({ length: connections }, (_, index) =>
      converse(port, posts(connections * 1e6 + index * each, each)),
    );
    expect(await Promise.all(all)).toEqual(all.map(() => new Map([[200, each]])));
    const large = Math.ceil(LARGE_REQUESTS / connections);
    const pagesOfAll = Array.from({ length: connections }, () => converse(port, pages(large)));
    expect(await Promise.all(pagesOfAll)).toEqual(
      pagesOfAll.map(
        () =>
          new Map([
            [200, 2 * large],
            [405, large],
          ]),
      ),
    );
  }
  await expectNoneEarly();
};

describe('a client that sends its next request with the last byte of a response keeps its connection', () => {
  test('10,000 requests on 1 and on 64 connections', async () => {
    await checkAll(Number(new URL(url).port));
  });

  testUnless(haproxyObstacle(), '10,000 requests on 1 and on 64 connections through HAProxy', async () => {
    const port = Number(new URL(url).port);
    const proxy = await startHaproxy([port, port, port], join(folder.path, 'haproxy.log'));
    await checkAll(Number(new URL(proxy.url).port));
  });
});
