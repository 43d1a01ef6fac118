import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

/** The process id of each child, or its process group as a negative id (kill(2)). */
const targets = new Map<ChildProcess, number>();

// For programs. Tests do not get this event in Jest: call `killChildren` in afterEach or afterAll.
process.on('exit', () => killChildren());

/** Starts a program that `killChildren` kills; with `detached`, together with its own children. */
export const spawnChild = (program: string, words: string[], options: SpawnOptions): ChildProcess => {
  const child = spawn(program, words, options);
  if (child.pid === undefined) return child;
  targets.set(child, options.detached ? -child.pid : child.pid);
  // A process group may outlive its first process.
  if (!options.detached) child.once('exit', () => targets.delete(child));
  return child;
};

/** Kills all children that still run. Otherwise Jest waits forever for those of a failed test. */
export const killChildren = (): void => {
  for (const target of targets.values()) killIfThere(target);
  targets.clear();
};

const killIfThere = (target: number) => {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // It has exited.
  }
};
