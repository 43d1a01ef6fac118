import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestService, type TestService } from './support/test-service.ts';

const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

describe.each(['', '/api/v1'])('the API page at the base path "%s"', (basePath) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ BASE_PATH: basePath });
  });
  afterAll(() => service.stop());

  test('is where GET / leads a browser, and nobody else', async () => {
    const { status, headers } = await service.agent.get(`${basePath}/`).set(BROWSER).redirects(0);
    expect([status, headers.location, headers.vary]).toEqual([302, `${basePath}/docs`, 'Accept']);
    for (const accept of ['*/*', 'application/json']) {
      const { body } = await service.agent.get(`${basePath}/`).set({ Accept: accept });
      expect(body).toEqual({ error: 1200, message: `There is nothing at ${basePath}/.` });
    }
  });

  test('has all that it is made of from the store', async () => {
    const { text, headers } = await service.agent.get(`${basePath}/docs`);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links).toContain('docs/api-page.js');
    for (const link of links) {
      const { status, headers: ofPart } = await service.agent.get(`${basePath}/${link}`);
      expect([link, status, ofPart.etag]).toEqual([link, 200, expect.stringMatching(/^"[\w-]{22}"$/)]);
      const again = await service.agent.get(`${basePath}/${link}`).set('If-None-Match', String(ofPart.etag));
      expect([again.status, again.text ?? '']).toEqual([304, '']);
    }
  });

  test('serves no other file', async () => {
    for (const name of ['', 'index.html', 'package.json', '../app.ts', '..%2fapp.ts', 'swagger-ui.js']) {
      expect((await service.agent.get(`${basePath}/docs/${name}`)).status).toBe(404);
    }
  });
});
