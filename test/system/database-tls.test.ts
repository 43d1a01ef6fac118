import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { describeUnless } from '../support/skip.ts';
import { projectFolder, runCommand, startStore } from '../support/store-process.ts';
import { makeDataFolder } from '../support/temporary-folder.ts';
import { findObstacle, makeAuthority, startTlsPostgres } from '../support/tls-postgres.ts';
import { useTestServices } from '../support/use-test-service.ts';

describeUnless(await findObstacle(), 'sslmode=verify-full', () => {
  const start = useTestServices();
  let folder: string;
  let authority: string;
  let stranger: string;
  let server: Awaited<ReturnType<typeof startTlsPostgres>>;
  beforeAll(async () => {
    folder = makeDataFolder();
    authority = await makeAuthority(folder, 'authority.crt');
    stranger = await makeAuthority(folder, 'stranger.crt');
    server = await startTlsPostgres(folder, authority, 'localhost');
  });
  afterAll(async () => {
    await server.release();
    rmSync(folder, { recursive: true });
  });

  const urlWith = (change: { hostname?: string }, parameters: Record<string, string>, base = server.url) => {
    const url = Object.assign(new URL(base), { hostname: 'localhost', ...change });
    url.search = String(new URLSearchParams(parameters));
    return url.href;
  };
  const right = () => urlWith({}, { sslmode: 'verify-full', sslrootcert: authority });
  const migrate = (url: string) => runCommand(['migrate'], { DATABASE_URL: url, NODE_ENV: 'production' });

  test('with the right authority and host: migrates and serves over TLS', async () => {
    expect((await migrate(right())).code).toBe(0);
    const service = await start({}, { databaseUrl: right() });
    const client = new Client({ connectionString: right() });
    try {
      const token = await service.tokens.create({ name: 'tls', scopes: ['plants:write'], expiresAt: null });
      const response = await service.post({ id: 1, name: 'Fir' }, { Authorization: `Bearer ${token}` });
      expect([response.status, response.text]).toEqual([200, '{"name":"Fir"}']);
      expect((await service.agent.get('/readyz')).status).toBe(200);
      await client.connect();
      const { rows } = await client.query(
        'SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_addr IS NOT NULL',
      );
      expect(rows).toEqual([{ ssl: true }]);
    } finally {
      await client.end();
    }
  });

  test('sslrootcert=system: the authorities of the system count, also for workers, and the host is verified', async () => {
    const url = urlWith({}, { sslrootcert: 'system' });
    const run = (DATABASE_URL: string, SSL_CERT_FILE: string) =>
      runCommand(['migrate'], { DATABASE_URL, SSL_CERT_FILE, NODE_ENV: 'production' });
    expect((await run(url, authority)).code).toBe(0);
    const unknown =
      /^The database is not available: .*(self-signed|verify).* \(name the file of its authority in the URL: sslrootcert=\)/;
    expect((await run(url, stranger)).stderr).toMatch(unknown);
    const other = urlWith({ hostname: '127.0.0.1' }, { sslmode: 'require', sslrootcert: 'system' });
    expect((await run(other, authority)).stderr).toMatch(/^The database is not available: .*altnames/);
    const direct = { DATABASE_URL: urlWith({}, { sslmode: 'no-verify' }), DIRECT_URL: url, SSL_CERT_FILE: authority };
    expect(await runCommand(['migrate'], { ...direct, NODE_ENV: 'production' })).toMatchObject({ code: 0 });
    const own = { DATABASE_URL: url, STORE_PASSWORD: 'x' };
    const updateRole = (SSL_CERT_FILE: string) =>
      spawnSync(process.execPath, ['bin/store-role.js'], {
        cwd: projectFolder,
        env: { ...process.env, ...own, SSL_CERT_FILE },
        encoding: 'utf8',
      });
    expect(updateRole(authority)).toMatchObject({ status: 0, stderr: '' });
    expect(updateRole(stranger).stderr).toMatch(/self-signed|verify/);
    const environment = { DATABASE_URL: url, SSL_CERT_FILE: authority, WORKERS: '2' };
    const store = await startStore({ ...environment, DATA_DIR: `${folder}/store` });
    expect((await fetch(`${store.url}/readyz`)).status).toBe(200);
    await store.stop();
  });

  const refused: [string, () => string, RegExp][] = [
    [
      'a certificate from another authority',
      () => urlWith({}, { sslmode: 'verify-full', sslrootcert: stranger }),
      /self-signed|verify/,
    ],
    [
      'a certificate from an authority that is not configured',
      () => urlWith({}, { sslmode: 'verify-full' }),
      /self-signed|verify/,
    ],
    [
      'a certificate for another host',
      () => urlWith({ hostname: '127.0.0.1' }, { sslmode: 'verify-full', sslrootcert: authority }),
      /127\.0\.0\.1 is not in the cert/,
    ],
    [
      'a server without TLS',
      () =>
        urlWith(
          { hostname: '127.0.0.1' },
          { sslmode: 'verify-full', sslrootcert: authority },
          process.env.TEST_POSTGRES_URL,
        ),
      /does not support SSL/,
    ],
    ['a client without TLS (by the server)', () => urlWith({}, {}), /no encryption/],
    // pg 8 treats these like verify-full. If a later version does not, this test must fail.
    [
      'sslmode=require and a certificate from another authority',
      () => urlWith({}, { sslmode: 'require', sslrootcert: stranger }),
      /self-signed|verify/,
    ],
    [
      'sslmode=prefer and a certificate from another authority',
      () => urlWith({}, { sslmode: 'prefer', sslrootcert: stranger }),
      /self-signed|verify/,
    ],
  ];

  test.each(refused)('refused: %s', async (_title, url, reason) => {
    const { code, stderr } = await migrate(url());
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The database is not available: .+\n?$/m);
    expect(stderr).toMatch(reason);
    expect(stderr).not.toMatch(/^\s+at /m);
    const service = await start({}, { databaseUrl: url() });
    const ready = await service.agent.get('/readyz');
    expect([ready.status, ready.body.error]).toEqual([503, 1501]);
  });

  test.each(['migrate', 'serve'])('%s fails at once if a file in the URL cannot be read', async (command) => {
    const DATABASE_URL = urlWith({}, { sslmode: 'verify-full', sslrootcert: '/nothing.crt' });
    const { code, stderr } = await runCommand([command], { DATABASE_URL, NODE_ENV: 'production' });
    expect([code, stderr]).toEqual([
      1,
      "DATABASE_URL cannot be used: ENOENT: no such file or directory, open '/nothing.crt'\n",
    ]);
  });
});
