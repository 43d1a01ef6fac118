import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { describeAt } from '../../src/openapi-document.ts';
import { useTestService } from '../support/use-test-service.ts';

const file = JSON.parse(readFileSync('openapi.json', 'utf8'));

describe('GET /openapi.json', () => {
  const atRoot = useTestService();
  const service = useTestService({ BASE_PATH: '/api/v1' });

  test('describes this service and needs no token', async () => {
    const response = await service.agent.get('/api/v1/openapi.json');
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.body).toEqual(describeAt('/api/v1'));
    expect((await atRoot.agent.get('/openapi.json')).body).toEqual(file);
  });

  test('is sent again only if it has changed', async () => {
    const { headers } = await service.agent.get('/api/v1/openapi.json');
    const again = await service.agent.get('/api/v1/openapi.json').set('If-None-Match', String(headers.etag));
    expect([again.status, again.text]).toEqual([304, '']);
    const address = `${service.baseUrl}/api/v1/openapi.json`;
    expect((await fetch(address, { headers: { 'If-None-Match': String(headers.etag) } })).status).toBe(304);
    expect((await service.agent.get('/api/v1/openapi.json').set('If-None-Match', '"other"')).status).toBe(200);
    const other = await service.agent.get('/api/v1/openapi.json').set('If-Match', '"other"');
    expect([other.status, other.body.error]).toEqual([412, 1204]);
  });
});
