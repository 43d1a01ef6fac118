import { once } from 'node:events';
import { connect } from 'node:net';
import type { Answer, PlantClient } from './post-plant.ts';

const HEADER_END = '\r\n\r\n';

/**
 * A client that sends one request after another on a connection and needs little CPU. If its connection breaks, its requests get
 * no response.
 */
export const createRawClient = async (baseUrl: string, token: string): Promise<PlantClient> => {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('utf8');
  await once(socket, 'connect');
  const head =
    `POST /plants HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n` +
    'Content-Type: application/json\r\nContent-Length: ';
  /** The first one is sent. */
  const requests: { body: string; sentAt: number; resolve: (answer: Answer) => void }[] = [];
  let received = '';

  const sendFirst = () => {
    const [request] = requests;
    if (request === undefined) return;
    request.sentAt = performance.now();
    socket.write(`${head}${request.body.length}${HEADER_END}${request.body}`);
  };
  const settle = (status: number, body: string) => {
    const request = requests.shift();
    sendFirst();
    const { error: code = 0, message = '' } = (status === 200 ? {} : JSON.parse(body)) as {
      error?: number;
      message?: string;
    };
    request?.resolve({ status, code, message, wait: performance.now() - request.sentAt });
  };

  socket.on('data', (text) => {
    received += text;
    for (let answer = readAnswer(received); answer !== undefined; answer = readAnswer(received)) {
      received = received.slice(answer.end);
      settle(answer.status, answer.body);
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    for (const { sentAt, resolve } of requests.splice(0))
      resolve({ status: 0, code: 0, message: 'the connection was closed', wait: performance.now() - sentAt });
  });

  return {
    post: (id) =>
      new Promise((resolve) => {
        const body = `{"id":${id},"name":"Fir","tag":"Abies"}`;
        requests.push({ body, sentAt: performance.now(), resolve });
        if (requests.length === 1) sendFirst();
      }),
    close: () => socket.destroy(),
  };
};

/** The first response in a text, if it is complete; the body is ASCII. */
const readAnswer = (text: string) => {
  const headerEnd = text.indexOf(HEADER_END);
  if (headerEnd === -1) return undefined;
  const header = text.slice(0, headerEnd);
  const start = headerEnd + HEADER_END.length;
  const end = start + Number(/^content-length: (\d+)/im.exec(header)?.[1] ?? 0);
  return text.length < end ? undefined : { status: Number(header.slice(9, 12)), body: text.slice(start, end), end };
};
