import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

// Makes openapi-types.ts from the description of the interface.

const document = readFileSync(new URL('../openapi.json', import.meta.url), 'utf8');
const types = astToString(
  await openapiTS(document, {
    transform: ({ format }) =>
      format === 'int64' ? ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword) : undefined,
  }),
);
// By this a test tells, without the packages that are needed here, that either of the two was changed alone.
const hash = createHash('sha256').update(document).update(types).digest('hex');
const head = `// Made by \`npm run client\` from openapi.json, and not to be changed by hand. SHA-256 of both: ${hash}\n`;
writeFileSync(new URL('openapi-types.ts', import.meta.url), head + types);
