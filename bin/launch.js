import { spawn } from 'node:child_process';
import module from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fail, prepare, root, supportedNode } from './prepare.js';

const FORWARDED_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);

/**
 * Prepares the checkout, then runs a script on a supported Node.js. That is this process if its version is right, as it
 * is from the second `npm start` on.
 */
export const launch = async (
  /** @type {string} */ script,
  /** @type {string[]} */ options,
  /** @type {string[]} */ nodeOptions = [],
) => {
  if (Number(process.versions.node.split('.')[0]) < 20)
    fail(`needs Node.js 20 or later, and this is ${process.version}`);
  prepare();
  // Speeds up the next start of this process and its children.
  process.env.NODE_COMPILE_CACHE ||= join(root, 'node_modules', '.cache', 'compile');
  module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE);
  const node = supportedNode();
  const path = join(root, script);
  if (node === process.execPath && nodeOptions.length === 0) {
    process.argv = [node, path, ...options];
    await import(pathToFileURL(path).href);
    return;
  }
  // Passes the Node.js options of this process on, such as those of `npm start`.
  const child = spawn(node, [...process.execArgv, ...nodeOptions, path, ...options], { stdio: 'inherit' });
  for (const signal of FORWARDED_SIGNALS) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(error.message));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const name of FORWARDED_SIGNALS) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
};
