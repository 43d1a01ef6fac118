import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

// Writes openapi-types.ts from openapi.json.

const document = readFileSync(new URL('../openapi.json', import.meta.url), 'utf8');
/** The client asks for problem details, so that an error has no other form. */
const withProblemsOnly = (/** @type {string} */ text) =>
  JSON.parse(text, (_name, value) => {
    if (value?.['application/problem+json']) delete value['application/json'];
    return value;
  });

const types = astToString(
  await openapiTS(withProblemsOnly(document), {
    transform: ({ format }) =>
      format === 'int64' ? ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword) : undefined,
  }),
);
// With the hash, a test detects that one of the two was changed alone, without the packages that this file needs.
const hash = createHash('sha256').update(document).update(types).digest('hex');
const head = `// Made by \`npm run client\` from openapi.json, and not to be changed by hand. SHA-256 of both: ${hash}\n`;
writeFileSync(new URL('openapi-types.ts', import.meta.url), head + types);
