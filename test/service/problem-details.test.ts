import { describe, expect, test } from '@jest/globals';
import { errors } from '../../src/errors.ts';
import { useTestService } from '../support/use-test-service.ts';

const PROBLEM = 'application/problem+json';
const PAGE_ORIGIN = 'https://garden.example';

const service = useTestService({ CORS_ORIGINS: PAGE_ORIGIN });

/** Sends a plant whose fields are all invalid. */
const postWrong = (headers: Record<string, string>) => service.post({ name: 5, tag: null }, headers);

test('a client that asks for problem details gets them, with a JSON Pointer for every invalid field', async () => {
  const { status, headers, body } = await postWrong({ Accept: PROBLEM });
  expect([status, headers['content-type'], headers.vary]).toEqual([400, PROBLEM, 'Origin, Accept']);
  expect(body).toEqual({
    type: '/docs/errors#1003',
    title: errors.fieldWrong.title,
    status: 400,
    detail: 'id is required; name must be a string, not 5; tag must be a string, not null.',
    code: 1003,
    errors: [
      { pointer: '/id', detail: 'is required' },
      { pointer: '/name', detail: 'must be a string, not 5' },
      { pointer: '/tag', detail: 'must be a string, not null' },
    ],
  });
});

test('the pointer for a body that is not an object is empty, which means the whole body', async () => {
  const { body } = await service.post('[]', { Accept: PROBLEM });
  expect(body.errors).toEqual([{ pointer: '', detail: 'must be a JSON object, not an array of 0 values' }]);
});

test('both forms have the same status and headers', async () => {
  const ask = (accept: string) => service.agent.put('/plants').set('Accept', accept);
  const [error, problem] = [await ask('*/*'), await ask(PROBLEM)];
  expect(error.body).toEqual({ error: 1202, message: problem.body.detail });
  expect(problem.body).toEqual({
    type: '/docs/errors#1202',
    title: errors.methodNotAllowed.title,
    status: 405,
    detail: 'PUT is not allowed here; use GET, HEAD, POST, PATCH, DELETE, OPTIONS.',
    code: 1202,
  });
  for (const name of ['allow', 'vary', 'cache-control', 'x-content-type-options']) {
    expect([name, problem.headers[name]]).toEqual([name, error.headers[name]]);
  }
});

// RFC 9110 §12.5.1
describe('content negotiation', () => {
  test.each([
    PROBLEM,
    'Application/Problem+JSON',
    `${PROBLEM}, */*`,
    `*/*, ${PROBLEM}`,
    `application/*;q=0.8, ${PROBLEM};q=0.8`,
    `application/json;q=0.9, ${PROBLEM}`,
    `${PROBLEM};q=0.2, application/json;q=0.1`,
    `${PROBLEM}, application/json`,
    `text/html, ${PROBLEM};q=0.1`,
    `application/json;q=0, */*`,
  ])('Accept: %s selects problem details', async (accept) => {
    const { headers, body } = await postWrong({ Accept: accept });
    expect([headers['content-type'], body.code]).toEqual([PROBLEM, 1003]);
  });

  test.each([
    '',
    '*/*',
    'application/*',
    'application/json',
    `application/json, ${PROBLEM}`,
    `application/json, ${PROBLEM};q=0.9`,
    `${PROBLEM};q=0.5, */*`,
    `${PROBLEM};q=0`,
    `${PROBLEM};q=0, */*`,
    `${PROBLEM};q=x`,
    'application/problem+xml',
    'text/html',
    ',;=/q',
  ])('Accept: %s selects the default', async (accept) => {
    const { headers, body } = await postWrong({ Accept: accept });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(Object.keys(body)).toEqual(['error', 'message']);
  });

  test('no Accept at all selects the default', async () => {
    // supertest adds none; fetch always does.
    const { headers, body } = await service.post({ name: 5 });
    expect([headers['content-type'], body.error]).toEqual(['application/json; charset=utf-8', 1003]);
  });
});

test('a page from another origin can read problem details', async () => {
  const { headers, body } = await postWrong({ Accept: PROBLEM, Origin: PAGE_ORIGIN });
  expect([headers['access-control-allow-origin'], body.code]).toEqual([PAGE_ORIGIN, 1003]);
});

describe('with a base path', () => {
  const based = useTestService({ BASE_PATH: '/api/v1' });

  test('the type is a section of a page', async () => {
    const { body } = await based.agent.get('/nothing').set('Accept', PROBLEM);
    expect(body.type).toBe('/api/v1/docs/errors#1200');
    const page = await based.agent.get(body.type);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toContain(errors.pathUnknown.advice);
  });
});
