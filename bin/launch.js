import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, prepare, root, supportedNode } from './prepare.js';

const FORWARDED_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);

/**
 * Prepares the checkout, then runs a script on a supported Node.js with the options in the script's first line.
 * @type {(script: string, options: string[], nodeOptions?: string[]) => void}
 */
export const launch = (script, options, nodeOptions = []) => {
  assertNode('20');
  prepare();
  // Speeds up the next start.
  process.env.NODE_COMPILE_CACHE ||= join(root, 'node_modules', '.cache', 'compile');
  run(supportedNode(), join(root, script), options, nodeOptions);
};

/**
 * Runs the JavaScript of an installed package, which has nothing to prepare.
 * @type {(script: string, options: string[]) => void}
 */
export const launchInstalled = (script, options) => {
  // The oldest that commander supports.
  assertNode('22.12');
  run(process.execPath, join(root, script), options, []);
};

/** @param {string} oldest for example `22.12` */
const assertNode = (oldest) => {
  const [major = 0, minor = 0] = oldest.split('.').map(Number);
  const [ownMajor = 0, ownMinor = 0] = process.versions.node.split('.').map(Number);
  if (ownMajor < major || (ownMajor === major && ownMinor < minor))
    fail(`needs Node.js ${oldest} or later, and this is ${process.version}`);
};

/**
 * Needs no second process, except before Node.js 22.15, which cannot replace its own.
 * @type {(node: string, path: string, options: string[], nodeOptions: string[]) => void}
 */
const run = (node, path, options, nodeOptions) => {
  // The Node.js options of this process come last, so that they take precedence.
  const words = [...nodeOptions, ...optionsInFirstLine(path), ...process.execArgv, path, ...options];
  /** @type {('inherit' | 'ignore')[]} */
  const stdio = ['inherit', 'inherit', 'inherit'];
  for (const descriptor of namedDescriptors(options)) {
    while (stdio.length <= descriptor) stdio.push('ignore');
    stdio[descriptor] = 'inherit';
  }
  if (process.execve && stdio.length === 3) process.execve(node, [node, ...words]);
  // Listens first: a signal between the two would end only this process.
  for (const signal of FORWARDED_SIGNALS) process.on(signal, () => child.kill(signal));
  const child = spawn(node, words, { stdio });
  child.on('error', (error) => fail(error.message));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const name of FORWARDED_SIGNALS) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
};

/**
 * Node.js closes descriptors 3 to 15 when it runs a program, unless they are passed on. zsh's `<(…)` is such a one: /proc/self/fd/12.
 * @type {(options: string[]) => number[]}
 */
const namedDescriptors = (options) =>
  options
    .map((option) => Number(/^(?:--[\w-]+=)?\/(?:dev|proc\/self)\/fd\/(\d{1,2})$/.exec(option)?.[1]))
    .filter((descriptor) => descriptor > 2 && descriptor < 16);

/** The options in a first line such as `#!/usr/bin/env -S node --option`. */
const optionsInFirstLine = (/** @type {string} */ path) => {
  const [line = ''] = readFileSync(path, 'utf8').split('\n', 1);
  return line.startsWith('#!') ? (line.match(/--\S+/g) ?? []) : [];
};
