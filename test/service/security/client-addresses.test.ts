import { describe, expect, test } from '@jest/globals';
import type { TestService } from '../../support/test-service.ts';
import { useTestServices } from '../../support/use-test-service.ts';

const start = useTestServices();

/** A request without a token, which counts against the address. */
const from = (service: TestService, forwardedFor: string) =>
  service.agent.post('/plants').set('X-Forwarded-For', forwardedFor);

const statuses = async (count: number, request: () => PromiseLike<{ status: number }>) => {
  const found: number[] = [];
  for (let sent = 0; sent < count; sent++) found.push((await request()).status);
  return found;
};

describe('the address of a client', () => {
  test('an X-Forwarded-For that the client makes up is ignored', async () => {
    const service = await start({ RATE_LIMIT: '2/60' });
    let turn = 0;
    expect(await statuses(4, () => from(service, `192.0.2.${turn++}`))).toEqual([401, 401, 429, 429]);
  });

  test('TRUST_PROXY=1: the address that the proxy adds counts, not what the client put before it', async () => {
    const service = await start({ RATE_LIMIT: '2/60', TRUST_PROXY: '1' });
    let turn = 0;
    expect(await statuses(3, () => from(service, `192.0.2.${turn++}, 198.51.100.7`))).toEqual([401, 401, 429]);
    expect((await from(service, '198.51.100.8')).status).toBe(401);
  });

  test('TRUST_PROXY=loopback, 203.0.113.0/24: the last address outside of these networks counts', async () => {
    const service = await start({ RATE_LIMIT: '2/60', TRUST_PROXY: 'loopback, 203.0.113.0/24' });
    let turn = 0;
    const request = () => from(service, `192.0.2.1, 198.51.100.7, 203.0.113.${turn++}`);
    expect(await statuses(3, request)).toEqual([401, 401, 429]);
    expect((await from(service, '192.0.2.1')).status).toBe(401);
  });

  test('a port that a proxy adds to an address does not count, also if the proxy is trusted by its address', async () => {
    const service = await start({ RATE_LIMIT: '2/60', TRUST_PROXY: 'loopback, 203.0.113.0/24, 2001:db8:f::/48' });
    let turn = 0;
    const request = () => from(service, `198.51.100.7:${5000 + turn++}, [2001:db8:f::1]:443, 203.0.113.9:${turn}`);
    expect(await statuses(3, request)).toEqual([401, 401, 429]);
    expect((await from(service, '[2001:db8::1]:50001')).status).toBe(401);
    const keys = await service.database.query('SELECT key FROM rate_limits ORDER BY key');
    expect(keys).toEqual([{ key: 'address:198.51.100.7' }, { key: 'address:2001:db8:0:0::/64' }]);
  });

  test('all addresses of an IPv6 /64 count as one client', async () => {
    const service = await start({ RATE_LIMIT: '2/60', TRUST_PROXY: '1' });
    let turn = 0;
    expect(await statuses(3, () => from(service, `2001:db8:1:2::${++turn}`))).toEqual([401, 401, 429]);
    expect((await from(service, '2001:db8:1:3::1')).status).toBe(401);
  });

  test('an invalid address: the address of the connection counts', async () => {
    const service = await start({ RATE_LIMIT: '2/60', TRUST_PROXY: '1' });
    const nonsense = ['unknown', "'; DROP TABLE plants", 'x'.repeat(5000)];
    let turn = 0;
    expect(await statuses(3, () => from(service, nonsense[turn++] ?? ''))).toEqual([401, 401, 429]);
    expect(await service.database.query('SELECT key FROM rate_limits')).toEqual([{ key: 'address:127.0.0.1' }]);
  });
});
