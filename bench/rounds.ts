/** Measures tasks in rounds, and keeps the figures. */
import { reasonOf, say } from './command.ts';
import { decimal, type Figures, type Group } from './report.ts';

/** @throws {BenchError} if it cannot be measured, or stored other rows than it should */
export type Task = { title: string; measure: () => Promise<Figures> };

/** Tasks that are compared: the first with each other. */
export type TaskGroup = { title: string; tasks: Task[] };

type Rounds = { rounds: number; signal: AbortSignal };

export const measureInRounds = async (taskGroups: TaskGroup[], { rounds, signal }: Rounds): Promise<Group[]> => {
  const groups = taskGroups.map(({ title, tasks }) => ({
    tasks,
    group: { title, samples: [], failures: [] } as Group,
  }));
  const total = rounds * groups.reduce((sum, { tasks }) => sum + tasks.length, 0);
  let done = 0;
  for (let round = 1; round <= rounds; round += 1) {
    for (const { tasks, group } of groups) {
      for (const task of orderOf(round, tasks)) {
        signal.throwIfAborted();
        const outcome = await measureOnce({ task, round, group, signal });
        done += 1;
        say(`[${done}/${total}] ${group.title} · round ${round} · ${task.title} · ${outcome}`);
      }
    }
  }
  return groups.map(({ tasks, group }) => {
    const samples = tasks.flatMap(({ title }) => group.samples.filter(({ task }) => task === title));
    return { ...group, samples };
  });
};

type Measurement = { task: Task; round: number; group: Group; signal: AbortSignal };

/** Adds the figures, or why there are none, to the group. Returns a summary. */
const measureOnce = async ({ task, round, group, signal }: Measurement): Promise<string> => {
  try {
    const figures = await task.measure();
    group.samples.push({ task: task.title, round, figures });
    const [name = '', value] = Object.entries(figures)[0] ?? [];
    return `${decimal(value)} ${name}`;
  } catch (error) {
    signal.throwIfAborted();
    group.failures.push(`${task.title}, round ${round}: ${reasonOf(error)}`);
    return `failed: ${reasonOf(error)}`;
  }
};

/**
 * A different order in each round: as listed, reversed, from the middle, and so on, so that no item always follows the
 * same one, or always comes late on a machine that slows down.
 */
const orderOf = <Item>(round: number, items: readonly Item[]): Item[] => {
  const start = Math.floor(((round - 1) * items.length) / 4) % items.length;
  const rotated = [...items.slice(start), ...items.slice(0, start)];
  return round % 2 === 0 ? rotated.reverse() : rotated;
};
