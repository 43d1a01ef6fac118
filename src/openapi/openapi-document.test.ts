import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { errorCodes } from '../http/error-codes.ts';
import { createOpenApiDocument } from './openapi-document.ts';

const document = createOpenApiDocument({ basePath: '' });

test('openapi.json is what the code makes (write it anew with: npm run openapi)', () => {
  expect(readFileSync('openapi.json', 'utf8')).toBe(`${JSON.stringify(document, null, 2)}\n`);
});

test("the document passes Redocly's recommended rules, with no warning either", async () => {
  const problems = await lintFromString({
    source: JSON.stringify(document),
    config: await createConfig({ extends: ['recommended'] }),
  });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
});

test('the document says where the store is by its base path, but for what stands at the root', () => {
  const { servers, paths } = createOpenApiDocument({ basePath: '/api/v1' });
  expect(servers[0]?.url).toBe('/api/v1');
  expect(paths['/livez'].servers[0]?.url).toBe('/');
});

test('the document has an example of every error code', () => {
  const codes = Object.values(errorCodes).map(({ code }) => code);
  for (const pattern of [/"value":\{"error":(\d+)/g, /"value":\{"type":"[^"]+","title":[^}]*"code":(\d+)/g]) {
    const described = new Set([...JSON.stringify(document).matchAll(pattern)].map(([, code]) => Number(code)));
    expect([...described].sort()).toEqual(codes.sort());
  }
});
