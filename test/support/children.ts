import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

const children = new Set<ChildProcess>();

// Whatever ends this process, nothing that it started runs on.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts a program that ends with this process at the latest. */
export const spawnChild = (program: string, words: string[], options: SpawnOptions): ChildProcess => {
  const child = spawn(program, words, options);
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
};
