import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { openApiDocument } from '../../src/openapi-document.ts';
import { type Answer, createAnswerCheck } from '../support/check-answer.ts';
import { useTestServices } from '../support/use-test-service.ts';
import { takeProblems, watchAnswers } from '../support/watch-answers.ts';

// Tests the check that test/jest/check-answers.ts applies to every response, with responses that the store never sends.

const check = createAnswerCheck(openApiDocument, '');
const always = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const json = { ...always, 'content-type': 'application/json; charset=utf-8' };
const created: Answer = { method: 'POST', path: '/plants', status: 200, headers: json, body: '{"name":"Fir"}' };
const refused = { ...created, status: 400, body: '{"error":1004,"message":"The id 1 is taken."}' };

const problem = { type: '/docs/errors#1004', title: 'Id taken', status: 400, detail: 'The id 1 is taken.', code: 1004 };
const asProblem = (body: object): Answer => ({
  ...created,
  status: 400,
  headers: { ...always, vary: 'Accept', 'content-type': 'application/problem+json' },
  body: JSON.stringify(body),
});

test('accepts responses that the API description contains', () => {
  const etag = { ...always, etag: '"x"' };
  const answers: Answer[] = [
    created,
    { ...created, headers: { ...json, 'x-request-id': 'x' } },
    refused,
    asProblem(problem),
    { method: 'GET', path: '/plants/1?x=y', status: 304, headers: etag, body: '' },
    { method: 'HEAD', path: '/livez', status: 200, headers: json, body: '{"status":"live"}' },
    { method: 'OPTIONS', path: '/plants', status: 204, headers: { ...always, allow: 'POST' }, body: '' },
    { method: 'GET', path: '/x', status: 404, headers: json, body: '{"error":1200,"message":"x"}' },
    { status: 400, headers: json, body: '{"error":1006,"message":"x"}' },
    { ...created, headers: { ...json, ratelimit: 'x', 'ratelimit-policy': 'x' } },
    { method: 'GET', path: '/docs', status: 304, headers: { ...etag, 'content-security-policy': 'x' }, body: '' },
  ];
  expect(answers.flatMap(check)).toEqual([]);
});

test.each<[string, Answer]>([
  ['status', { ...created, status: 201 }],
  ['status', { ...created, method: 'PUT' }],
  ['status', { ...created, path: '/plans' }],
  ['header x-powered-by', { ...created, headers: { ...json, 'x-powered-by': 'x' } }],
  ['absence of the header cache-control', { ...created, headers: { ...json, 'cache-control': undefined } }],
  [
    'header ratelimit',
    { ...created, path: '/livez', method: 'GET', headers: { ...json, ratelimit: 'x' }, body: '{"status":"live"}' },
  ],
  [
    'absence of the header content-security-policy',
    { method: 'GET', path: '/docs', status: 304, headers: { ...always, etag: '"x"' }, body: '' },
  ],
  ['body of type ""', { ...created, headers: always }],
  ['body of type "text/html"', { ...created, headers: { ...always, 'content-type': 'text/html' } }],
  ['body (data/name must be string)', { ...created, body: '{"name":null}' }],
  ['body (data must NOT have additional properties)', { ...created, body: '{"id":1,"name":"Fir"}' }],
  ['body (data must NOT have additional properties)', { ...refused, body: '{"error":1004,"message":"x","errors":[]}' }],
  ['code 1599', asProblem({ ...problem, code: 1599 })],
  ['status 404 in the body', asProblem({ ...problem, status: 404 })],
  ["body (data must have required property 'title')", asProblem({ ...problem, title: undefined })],
  ['code 1599', { ...refused, body: '{"error":1599,"message":"x"}' }],
])('reports an undescribed %s', (what, answer) => {
  expect(check(answer)).toEqual([expect.stringContaining(`: its ${what} is not described`)]);
});

const start = useTestServices();

test('sees every response, including those that Express does not send', async () => {
  const service = await start();
  const { port } = new URL(service.baseUrl);
  watchAnswers(Number(port), ({ status, body }) => [`${status} ${body}`]);
  await service.agent.get('/livez');
  await new Promise((resolve) =>
    connect(Number(port), '127.0.0.1').resume().on('close', resolve).end('garbage\r\n\r\n'),
  );
  expect(takeProblems()).toEqual(['200 {"status":"live"}', expect.stringMatching(/^400 \{"error":1006,.*\}$/)]);
});
