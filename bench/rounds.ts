/** Measures tasks in rounds, and keeps the figures. */
import { reasonOf, say } from './command.ts';
import { decimal, type Figures, type Group } from './report.ts';

/** @throws {BenchError} if it cannot be measured, or stored other rows than it should */
export type Task = { title: string; measure: () => Promise<Figures> };

/** Tasks that are compared: the first with each other. */
export type TaskGroup = { title: string; tasks: Task[] };

type Rounds = { rounds: number; signal: AbortSignal };

export const measureInRounds = async (taskGroups: TaskGroup[], { rounds, signal }: Rounds): Promise<Group[]> => {
  const groups = taskGroups.map(
    ({ title, tasks }) => ({ title, tasks, samples: [], failures: [] }) as Group & TaskGroup,
  );
  const total = rounds * groups.reduce((sum, { tasks }) => sum + tasks.length, 0);
  let done = 0;
  for (let round = 1; round <= rounds; round += 1) {
    for (const { title, tasks, samples, failures } of groups) {
      for (const task of orderOf(round, tasks)) {
        signal.throwIfAborted();
        const outcome = await task.measure().then(
          (figures) => {
            samples.push({ task: task.title, round, figures });
            const [name = '', value] = Object.entries(figures)[0] ?? [];
            return `${decimal(value)} ${name}`;
          },
          (error: unknown) => {
            signal.throwIfAborted();
            failures.push(`${task.title}, round ${round}: ${reasonOf(error)}`);
            return `failed: ${reasonOf(error)}`;
          },
        );
        done += 1;
        say(`[${done}/${total}] ${title} · round ${round} · ${task.title} · ${outcome}`);
      }
    }
  }
  return groups.map(({ title, tasks, samples, failures }) => {
    const inOrder = tasks.flatMap((task) => samples.filter((sample) => sample.task === task.title));
    return { title, samples: inOrder, failures };
  });
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
