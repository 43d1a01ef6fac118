/** The limit of Node.js: reads the body and answers. Parses, checks and stores nothing. */
import { createServer } from 'node:http';
import { address } from './peer.ts';

const ANSWER = '{"name":"Monstera deliciosa","tag":"indoor"}';
const HEADERS = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': ANSWER.length };

const server = createServer((request, response) => {
  request.on('data', () => {});
  request.on('end', () => response.writeHead(200, HEADERS).end(ANSWER));
});

server.listen(address.port, address.host);
