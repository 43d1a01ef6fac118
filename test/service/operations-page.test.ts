import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { useTestService } from '../support/use-test-service.ts';

const page = readFileSync('docs/reference/operations.md', 'utf8');
const examples = [...page.matchAll(/^### (.*)$[\s\S]*?^```sh\n([\s\S]*?)\n```\n\n```http\n([\s\S]*?)\n```$/gm)].map(
  ([, title = '', command = '', response = '']) => ({ title, command, response }),
);
const service = useTestService();

test('docs/reference/operations.md has an example for each operation', () => {
  expect(examples.length).toBe([...page.matchAll(/^\| \[`/gm)].length);
});

test.each(examples)('the example of "$title" gets the response that it shows', async ({ command, response }) => {
  await service.database.query('TRUNCATE plants');
  const isNew = /-d|--data/.test(command) && !/-X (PUT|PATCH)/.test(command);
  if (!isNew)
    await service.database.query("INSERT INTO plants VALUES (17, 'Ginkgo', 'Ginkgo biloba'), (18, 'Fir', NULL)");
  // With failglob, as zsh does by default, a URL with a question mark that is not quoted is an error.
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-O', 'failglob', '-c', command.replace('curl -i', 'curl -sSi').replace('http://127.0.0.1:3000', service.baseUrl)],
    { env: { PATH: process.env.PATH, ACCESS_TOKEN: service.token } },
  );
  const [head = '', body = ''] = stdout.split('\r\n\r\n');
  const [shownHead = '', shownBody] = response.split('\n\n');
  const [statusLine = '', type] = shownHead.split('\n');
  expect(head.split('\r\n')[0]).toBe(statusLine);
  if (type !== undefined) expect(head).toContain(type);
  if (shownBody !== undefined) expect(body.trimEnd()).toBe(shownBody);
});
