import type { Call, State } from './call.ts';
import type { EntityTags } from './entity-tags.ts';
import { findDifference } from './explain.ts';
import { jsonOf, type Plant } from './requests.ts';
import { outcomesOf } from './store-model.ts';

type Failure = {
  states: readonly State[];
  calls: readonly Call[];
  table: ReadonlyMap<string, Plant>;
  tags: EntityTags;
  wrongTags: readonly string[];
};

/** Says what was sent, what came back, and how that differs from what the model expects. */
export const describeFailure = ({ states, calls, table, tags, wrongTags }: Failure): string => {
  const [state] = states as [State];
  const lines = calls.flatMap((call) => {
    const { instance, token, http, answer } = call;
    const { Authorization: _secret, 'X-Forwarded-For': _address, ...headers } = http.headers;
    const body = http.body === undefined ? '' : ` ${JSON.stringify(http.body)}`;
    const difference =
      answer &&
      outcomesOf(state, call)
        .map(({ expected }) => findDifference(expected, answer, tags) ?? 'as expected')
        .join(', or ');
    const { etag, link, 'idempotent-replayed': replayed } = answer?.headers ?? {};
    const shown = Object.entries({ etag, link, replayed }).flatMap(([name, value]) =>
      value ? `${name}: ${value}` : [],
    );
    return [
      `${http.method} ${http.path} ${JSON.stringify(headers)}${body} as ${token} to instance ${instance}`,
      answer ? `  → ${answer.status} ${answer.text} ${shown.join(' ')}` : '  → the client has left',
      ...(answer ? [`  alone, at first: ${difference}`] : []),
    ];
  });
  return [
    calls.length === 1
      ? 'The model does not explain this:'
      : 'No order explains these requests, which were sent at once:',
    ...lines,
    ...wrongTags,
    `plants before: ${shownPlants(state.plants)}`,
    `plants after: ${shownPlants(table)}`,
    `kept before: ${[...state.kept].map(([key, { expected }]) => `${key}: ${expected.status}`).join(', ') || 'nothing'}`,
  ].join('\n');
};

const shownPlants = (plants: ReadonlyMap<string, Plant>): string =>
  [...plants].map(([id, plant]) => jsonOf(id, plant)).join(' ') || 'none';
