import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { killChildren } from '../support/children.ts';
import { runProgram } from '../support/run-program.ts';
import { spawnCommand } from '../support/store-process.ts';
import { useTestService } from '../support/use-test-service.ts';

const service = useTestService();
afterEach(async () => {
  jest.restoreAllMocks();
  await killChildren();
});

let environment: Record<string, string>;
beforeAll(() => {
  environment = { DATABASE_URL: service.database.url };
});
const run = (...words: string[]) => runProgram(words, environment);
const create = async (name: string, ...words: string[]) =>
  (await run('token', 'create', '--name', name, ...words)).stdout.trim();
const rotate = async (name: string, ...words: string[]) => (await run('token', 'rotate', name, ...words)).stdout.trim();

const clock = performance.now.bind(performance);
let passed = 0;
/** Sends a request with each token, after the service has forgotten what it knows of them. */
const statuses = async (...tokens: string[]) => {
  passed += 5000;
  jest.spyOn(performance, 'now').mockImplementation(() => clock() + passed);
  const responses = tokens.map((token) => service.agent.get('/plants').set('Authorization', `Bearer ${token}`));
  return (await Promise.all(responses)).map(({ status }) => status);
};

describe('token rotate', () => {
  test('gives a token another text; the one before is valid for an hour', async () => {
    const before = await create('rotated', '--scope', 'plants:read', '--expires', '30d');
    expect(await statuses(before)).toEqual([200]);
    const { code, stdout, stderr } = await run('token', 'rotate', 'rotated');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^plant_[\w-]{43}\n$/);
    expect(stderr).toMatch(
      /^Save this token; it cannot be shown again\. The one from before is valid until \S+Z at the latest\.\n$/,
    );
    expect(await statuses(before, stdout.trim())).toEqual([200, 200]);
    const [row] = await service.database.query(`
      SELECT scopes, previous_expires_at - now() BETWEEN interval '59 minutes' AND interval '1 hour' AS "isHour",
        expires_at > now() + interval '29 days' AS "isMonth" FROM tokens WHERE name = 'rotated'`);
    expect(row).toEqual({ scopes: ['plants:read'], isHour: true, isMonth: true });
    await service.database.query("UPDATE tokens SET previous_expires_at = now() WHERE name = 'rotated'");
    expect(await statuses(before, stdout.trim())).toEqual([401, 200]);
    expect(service.log.at(-2)).toMatchObject({ token: 'rotated' });
  });

  test('with --overlap 0s ends the text from before at once', async () => {
    const before = await create('leaked');
    const after = await rotate('leaked', '--overlap', '0s');
    expect(await statuses(before, after)).toEqual([401, 200]);
  });

  test('does not let the text from before outlive its own expiry', async () => {
    const before = await create('short', '--expires', '1d');
    await rotate('short', '--overlap', '30d');
    await service.database.query("UPDATE tokens SET expires_at = now() WHERE name = 'short'");
    expect(await statuses(before)).toEqual([401]);
  });

  test('keeps two texts at most', async () => {
    const texts = [await create('often'), await rotate('often'), await rotate('often')];
    expect(await statuses(...texts)).toEqual([401, 200, 200]);
  });

  test('keeps the responses to Idempotency-Keys', async () => {
    const send = (token: string) =>
      service.post({ id: 1, name: 'Fir' }, { Authorization: `Bearer ${token}`, 'Idempotency-Key': 'a' });
    expect((await send(await create('keyed'))).status).toBe(200);
    const again = await send(await rotate('keyed', '--overlap', '0s'));
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true']);
  });

  test.each([
    ['nobody', 'There is no token named "nobody".\n'],
    ['past', 'The token "past" is revoked or has expired. Create another.\n'],
    ['old', 'The token "old" is revoked or has expired. Create another.\n'],
  ])('refuses %s', async (name, stderr) => {
    if (name !== 'nobody') await create(name);
    if (name === 'past') await run('token', 'revoke', name);
    await service.database.query("UPDATE tokens SET expires_at = now() WHERE name = 'old'");
    expect(await run('token', 'rotate', name)).toEqual({ code: 1, stdout: '', stderr });
  });

  test.each(['1', '-1h', '', 'x'])('refuses --overlap %j', async (overlap) => {
    expect(await run('token', 'rotate', 'rotated', '--overlap', overlap)).toMatchObject({ code: 2, stdout: '' });
  });

  test('keeps the text from before if the new one cannot be printed', async () => {
    const before = await create('unread');
    const command = spawnCommand(['token', 'rotate', 'unread', '--overlap', '0s'], environment);
    command.stdout?.destroy();
    const [stderr, [code]] = await Promise.all([text(command.stderr as Readable), once(command, 'exit')]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The token could not be printed and the one from before stays valid: .*EPIPE.*\n$/),
    ]);
    expect(await statuses(before)).toEqual([200]);
  });
});

describe('token revoke', () => {
  test('revokes the text from before a rotation too', async () => {
    const texts = [await create('both'), await rotate('both')];
    await run('token', 'revoke', 'both');
    expect(await statuses(...texts)).toEqual([401, 401]);
  });
});

describe('token delete', () => {
  test('frees the name of a revoked token', async () => {
    const before = await create('deleted');
    await run('token', 'revoke', 'deleted');
    expect(await run('token', 'delete', 'deleted')).toEqual({ code: 0, stdout: '', stderr: 'Deleted "deleted".\n' });
    const after = await create('deleted');
    expect(await statuses(before, after)).toEqual([401, 200]);
  });

  test('refuses a token that is not revoked, and an unknown name', async () => {
    const token = await create('kept');
    expect([await run('token', 'delete', 'kept'), await run('token', 'delete', 'nobody')]).toEqual([
      { code: 1, stdout: '', stderr: 'The token "kept" is not revoked. Revoke it first.\n' },
      { code: 1, stdout: '', stderr: 'There is no token named "nobody".\n' },
    ]);
    expect(await statuses(token)).toEqual([200]);
  });
});
