import { describe, expect, test } from '@jest/globals';
import { errors } from '../../src/errors.ts';
import { useTestService } from '../support/use-test-service.ts';

const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

/** The target of a link on the page at this path. Fails unless the link is also right below a prefix that a proxy strips. */
const follow = (path: string, link = ''): string => {
  const { pathname, hash } = new URL(link, `https://store/garden${path}`);
  expect(pathname).toMatch(/^\/garden\//);
  return pathname.slice('/garden'.length) + hash;
};

describe.each(['', '/api/v1'])('the API page with the base path "%s"', (basePath) => {
  const service = useTestService({ BASE_PATH: basePath });

  test.each([...new Set(['/', `${basePath}/`])])('GET %s redirects browsers to it', async (path) => {
    const { status, headers } = await service.agent.get(path).set(BROWSER).redirects(0);
    expect([status, follow(path, headers.location), headers.vary]).toEqual([302, `${basePath}/docs`, 'Accept']);
  });

  test.each([...new Set(['/', `${basePath}/`])])('GET %s lists the paths for other clients', async (path) => {
    for (const accept of ['', '*/*', 'application/json', 'application/problem+json', 'image/png']) {
      const { status, headers, body } = await service.agent.get(path).set({ Accept: accept }).redirects(0);
      expect([status, headers.vary]).toEqual([200, 'Accept']);
      expect(body).toEqual({
        docs: `${basePath}/docs`,
        openapi: `${basePath}/openapi.json`,
        plants: `${basePath}/plants`,
        livez: '/livez',
        readyz: '/readyz',
      });
      for (const link of Object.values<string>(body)) {
        expect([link, (await service.agent.get(link)).status]).toEqual([link, link.endsWith('/plants') ? 401 : 200]);
      }
    }
    const other = await service.agent.post(path);
    expect([other.status, other.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test.each([['/docs/', '/docs'], ['/docs/errors/', '/docs/errors'], ...(basePath ? [['', '/']] : [])])(
    'redirects %j to %s',
    async (path, target) => {
      const { status, headers } = await service.agent.get(`${basePath}${path}`).redirects(0);
      expect([status, follow(`${basePath}${path}`, headers.location)]).toEqual([308, `${basePath}${target}`]);
    },
  );

  test('one page has a section with advice for every error', async () => {
    const { status, headers, text } = await service.agent.get(`${basePath}/docs/errors`);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
    );
    expect(text).not.toMatch(/ style=|<script|<style|<ACCESS_TOKEN>/);
    for (const { code, advice } of Object.values(errors)) {
      expect(text).toContain(`href="#${code}"`);
      const section = text.split(`<section id="${code}">`)[1]?.split('</section>')[0];
      expect(section).toContain(advice.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'));
    }
  });

  test('links on the error page lead to existing pages', async () => {
    const { text } = await service.agent.get(`${basePath}/docs/errors`);
    const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => follow(`${basePath}/docs/errors`, link));
    expect(links).toContain(`${basePath}/docs/pages.css`);
    for (const link of links) expect([link, (await service.agent.get(link)).status]).toEqual([link, 200]);
  });

  test('loads all its files from the store', async () => {
    const { text, headers } = await service.agent.get(`${basePath}/docs`);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links).toContain('docs/api-page.js');
    for (const link of links) {
      const { status, headers: partHeaders } = await service.agent.get(`${basePath}/${link}`);
      expect([link, status, partHeaders.etag]).toEqual([link, 200, expect.stringMatching(/^"[\w-]{22}"$/)]);
      // A browser keeps it, and asks before it uses it again.
      expect(partHeaders['cache-control']).toBe('no-cache');
      const again = await service.agent.get(`${basePath}/${link}`).set('If-None-Match', String(partHeaders.etag));
      expect([again.status, again.text ?? '']).toEqual([304, '']);
    }
  });

  test('does not serve other files', async () => {
    for (const name of ['index.html', 'package.json', '../app.ts', '..%2fapp.ts', 'swagger-ui.js']) {
      expect((await service.agent.get(`${basePath}/docs/${name}`)).status).toBe(404);
    }
  });
});
