/** Node's own limit: the body is read and answered at once, nothing is parsed, checked or stored. */
import { createServer } from 'node:http';

const ANSWER = '{"name":"Monstera deliciosa","tag":"indoor"}';
const HEADERS = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': ANSWER.length };

const server = createServer((request, response) => {
  request.on('data', () => {});
  request.on('end', () => response.writeHead(200, HEADERS).end(ANSWER));
});

server.listen(Number(process.env.PORT), '127.0.0.1');
