import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

/** What to kill of each child: its process id, or its process group, which is written as a negative id (kill(2)). */
const targets = new Map<ChildProcess, number>();

// For programs of their own. In Jest a test never gets this event: there, call `killChildren` in afterEach or afterAll.
process.on('exit', () => killChildren());

/** Starts a program that `killChildren` ends; with `detached`, along with all that it starts. */
export const spawnChild = (program: string, words: string[], options: SpawnOptions): ChildProcess => {
  const child = spawn(program, words, options);
  if (child.pid === undefined) return child;
  targets.set(child, options.detached ? -child.pid : child.pid);
  // The group of a child may outlive it.
  if (!options.detached) child.once('exit', () => targets.delete(child));
  return child;
};

/** Kills what still runs of the children. Nothing may be left of a test that failed: Jest would wait for it forever. */
export const killChildren = (): void => {
  for (const target of targets.values()) killIfThere(target);
  targets.clear();
};

const killIfThere = (target: number) => {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // It has ended.
  }
};
