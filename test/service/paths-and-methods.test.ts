import { expect, test } from '@jest/globals';
import { exchangeBytes } from '../support/raw-http.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();

test('code 1200: no such path', async () => {
  for (const path of ['/nothing', '/plants/1/2', '/%zz']) {
    const response = await service.agent.get(path);
    expect(response.status).toBe(404);
    expect(response.body.error).toBe(1200);
  }
  const long = await service.agent.get(`/${'a'.repeat(10_000)}`);
  expect(long.body.message).toBe(`There is nothing at /${'a'.repeat(99)}….`);
  const slash = await service.agent.get('/plants/');
  expect(slash.body.message).toBe(
    'There is nothing at /plants/. The paths of operations neither end with a slash nor have two in a row.',
  );
});

test('code 1202: the method is not allowed; Allow lists those that are', async () => {
  for (const [path, methods, allowed] of [
    ['/plants', ['put'], 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'],
    ['/plants/1', ['post'], 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    ['/livez', ['post', 'delete'], 'GET, HEAD, OPTIONS'],
  ] as const) {
    for (const method of methods) {
      const response = await service.agent[method](path);
      expect([response.status, response.headers.allow, response.body.error]).toEqual([405, allowed, 1202]);
    }
    const options = await service.agent.options(path);
    expect([options.status, options.headers.allow, options.text]).toEqual([204, allowed, '']);
  }
  const wrong = await service.agent.post('/plants/1');
  expect(wrong.headers['accept-patch']).toBe('application/merge-patch+json, application/json');
  expect((await service.agent.options('/plants/1')).headers['accept-patch']).toBe(
    'application/merge-patch+json, application/json',
  );
});

test('OPTIONS * concerns the service as a whole (RFC 9110 §9.3.7); other methods of * are not allowed', async () => {
  const ask = async (method: string) => {
    const bytes = Buffer.from(`${method} * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [answer] = await exchangeBytes({ port: Number(new URL(service.baseUrl).port), bytes });
    return answer;
  };
  expect(await ask('OPTIONS')).toMatchObject({
    status: 204,
    head: expect.stringContaining('Allow: GET, HEAD, OPTIONS'),
  });
  expect(JSON.parse((await ask('GET'))?.body ?? '')).toMatchObject({ error: 1006 });
});
