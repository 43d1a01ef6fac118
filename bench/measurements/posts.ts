/** `POST /plants`: the store and its peers, at several numbers of connections. */
import { BenchError } from '../command.ts';
import type { Target } from '../load/load.ts';
import type { Figures } from '../report.ts';
import { measureInRounds } from '../rounds.ts';
import { type Bench, createPlants, warmUp } from './bench.ts';

export const measurePosts = ({ options, stores, peers, signal }: Bench) => {
  const { rounds, seconds, connections, only } = options;
  const targets = select([...stores, ...peers], only);
  const groups = connections.map((number) => ({
    title: `POST /plants, connections: ${number}`,
    tasks: targets.map((target) => ({
      title: target.title,
      measure: () => measurePost(target, { connections: number, seconds }),
    })),
  }));
  return measureInRounds(groups, { rounds, signal });
};

const select = (targets: Target[], only: readonly string[]): Target[] => {
  const ids = targets.map(({ id }) => id);
  const unknown = only.filter((id) => !ids.includes(id));
  if (unknown.length > 0)
    throw new BenchError(`--only: unknown target ${unknown.join(', ')}. Targets: ${ids.join(', ')}`);
  return only.length === 0 ? targets : targets.filter(({ id }) => only.includes(id));
};

type Load = { connections: number; seconds: number; withKeys?: boolean };

/** A new process with an empty table. */
export const measurePost = async (target: Target, load: Load): Promise<Figures> => {
  await using open = await target.open();
  await target.table.reset(target.indexes === 'none' ? undefined : target.indexes);
  await warmUp(open);
  await open.load({ ...load, seconds: 1 });
  await target.table.reset();
  // Awaited here: the process is stopped when this function returns.
  return await createPlants(target, open, load);
};
