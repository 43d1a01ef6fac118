import type { RawAnswer } from '../raw-http.ts';
import type { Conversation } from './conversations.ts';

/** Counts requests and responses by kind of input. */
export const createTally = () => {
  const kinds = new Map<string, { inputs: number; answers: Map<string, number> }>();
  let connections = 0;
  const total = () => [...kinds.values()].reduce((sum, { inputs }) => sum + inputs, 0);
  return {
    count: ({ kind, requests }: Conversation, answers: RawAnswer[]) => {
      const entry = kinds.get(kind) ?? { inputs: 0, answers: new Map<string, number>() };
      kinds.set(kind, entry);
      connections++;
      entry.inputs += requests.length;
      for (const answer of answers) {
        const name = nameOf(answer);
        entry.answers.set(name, (entry.answers.get(name) ?? 0) + 1);
      }
    },
    total,
    /** A line for the total and one for each kind. */
    lines: () => [
      `${total()} inputs on ${connections} connections`,
      ...[...kinds].map(([kind, { inputs, answers }]) => {
        const counts = [...answers].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${name}: ${count}`);
        return `  ${kind.padEnd(26)} ${String(inputs).padStart(6)} inputs → ${counts.join(', ')}`;
      }),
    ],
  };
};

/** The status, with the code of an Error. */
const nameOf = ({ status, body }: RawAnswer) => {
  const code = /^\{"error":(\d+),/.exec(body)?.[1];
  return code === undefined ? String(status) : `${status} (${code})`;
};
