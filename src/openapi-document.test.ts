import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { errors } from './errors.ts';
import { describeAt, openApiDocument as document, otherErrors } from './openapi-document.ts';

test('openapi.json is up to date (if not: npm run generate)', () => {
  expect(readFileSync('openapi.json', 'utf8')).toBe(`${JSON.stringify(document, null, 2)}\n`);
});

test("the document passes Redocly's recommended rules without warnings", async () => {
  const problems = await lintFromString({
    source: JSON.stringify(document),
    config: await createConfig({ extends: ['recommended'], rules: { 'parameter-description': 'error' } }),
  });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
});

test('the server is relative to the URL of the document; health checks stay at the root', () => {
  const { servers, paths } = document;
  expect(new URL(servers[0]?.url ?? '', 'https://example.com/prefix/api/v1/openapi.json').pathname).toBe(
    '/prefix/api/v1/',
  );
  expect(paths['/livez']?.get?.servers).toBeUndefined();
  expect(describeAt('/api/v1').paths['/livez']?.get?.servers?.[0]?.url).toBe('/');
});

test('the document has an example of every error code, and names those that no operation has', () => {
  for (const { code } of otherErrors) expect(document.info.description).toContain(`(${code})`);
  const codes = Object.values(errors)
    .filter((error) => !otherErrors.includes(error))
    .map(({ code }) => code);
  for (const pattern of [/"value":\{"error":(\d+)/g, /"value":\{"type":"[^"]+","title":[^}]*"code":(\d+)/g]) {
    const described = new Set([...JSON.stringify(document).matchAll(pattern)].map(([, code]) => Number(code)));
    expect([...described].sort()).toEqual(codes.sort());
  }
});
