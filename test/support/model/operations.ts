import fc, { type Arbitrary } from 'fast-check';
import {
  type Filter,
  ID_VALUES,
  NAME_VALUES,
  type Plant,
  type PlantRequest,
  type Row,
  TAG_VALUES,
} from './requests.ts';
import { TOKEN_NAMES, type TokenName } from './tokens.ts';
import { WRONG_REQUESTS } from './wrong-requests.ts';

/** A member of If-Match or If-None-Match. `earlier`: the entity tag of a former state of the plant. */
type TagChoice = 'current' | 'earlier' | 'weak' | 'foreign' | '*';

export type Precondition = { header: 'If-Match' | 'If-None-Match'; tags: TagChoice[] };

/**
 * A client leaves after so many turns of the event loop, with or without the end of what it sends (a server may take the end
 * for that of its requests only), or before it has sent everything.
 */
export type Leave = { turns: number; by: 'reset' | 'end' } | 'before the end';

type Where = {
  /** Which of the two instances gets the request. */
  instance: 0 | 1;
  leave?: Leave;
};

/** A request to send. */
export type Sent = Where & { token: TokenName; request: PlantRequest; precondition?: Precondition; key?: string };

/** A request with a key that was sent before: the last one (0), the one before it (1), and so on. */
export type Again = Where & { again: number; isSpelledDifferently: boolean };

/** One step of a sequence. */
export type Operation =
  /** Requests that are sent at once. */
  | { send: (Sent | Again)[] }
  /** Reads a list page by page, by turns from both instances. */
  | { walk: { limit: number; filter: Filter } }
  /** With requests of the token before and after, to the same instance. */
  | { revoke: { fiveSecondsPass: boolean; instance: 0 | 1 } }
  | { wait: 'for the token to expire' }
  | { expire: 'all keys' };

const oneOf = fc.constantFrom;
/** Counterexamples are easier to read if all objects have the usual prototype. */
const record: typeof fc.record = (model: object, constraints: object = {}) =>
  fc.record(model as never, { ...constraints, noNullPrototype: true }) as never;
/** Mostly the first two, so that requests meet. */
const ids = fc.oneof(
  { weight: 2, arbitrary: oneOf(...ID_VALUES.slice(0, 2)) },
  { weight: 1, arbitrary: oneOf(...ID_VALUES) },
);
const plants = record({ name: oneOf(...NAME_VALUES), tag: oneOf('Abies', ...TAG_VALUES) }, { requiredKeys: ['name'] });
const patches = record(
  { name: oneOf(...NAME_VALUES), tag: oneOf<(string | null)[]>(null, ...TAG_VALUES) },
  { requiredKeys: [] },
);
const filters: Arbitrary<Filter> = record(
  { tag: oneOf(...TAG_VALUES, 'of no plant'), q: oneOf('fir', 'R', 'E', '%', '_', '\\', '"', '\n', 'é', '😀', 'xy') },
  { requiredKeys: [] },
);
/** They match several plants, so that there are several pages. */
const wideFilters: Arbitrary<Filter> = oneOf<Filter[]>(
  {},
  { tag: 'Abies' },
  { q: 'R' },
  { q: 'e' },
  { tag: 'Abies', q: 'r' },
);
const instances = oneOf<(0 | 1)[]>(0, 1);

const creations = record({ kind: fc.constant('create' as const), id: ids, plant: plants });
const reads = record({ kind: fc.constant('read' as const), id: ids, isHead: oneOf(false, false, false, true) });
const changes = fc.oneof(
  {
    weight: 3,
    arbitrary: record({ kind: fc.constant('replace' as const), id: ids, plant: plants }),
  },
  { weight: 3, arbitrary: record({ kind: fc.constant('patch' as const), id: ids, change: patches }) },
  { weight: 2, arbitrary: record({ kind: fc.constant('remove' as const), id: ids }) },
);
const lists = record(
  {
    kind: fc.constant('list' as const),
    filter: fc
      .tuple(filters, fc.option(fc.array(ids, { minLength: 1, maxLength: 4 }), { nil: undefined }))
      .map(([filter, chosen]): Filter => (chosen === undefined ? filter : { ...filter, ids: chosen })),
    limit: fc.integer({ min: 1, max: 4 }),
  },
  { requiredKeys: ['kind', 'filter'] },
);
const exports = record({
  kind: fc.constant('export' as const),
  format: oneOf<('ndjson' | 'csv')[]>('ndjson', 'csv'),
  filter: filters,
});
const changesOfMany = record(
  {
    kind: fc.constant('many' as const),
    filter: oneOf<Filter[]>({ tag: 'Abies' }, { q: 'R' }, { q: 'e', ids: ['2', '1', '3'] }, { ids: ['1', '0'] }),
    change: patches,
    limit: fc.integer({ min: 1, max: 3 }),
    dryRun: fc.constant(true as const),
  },
  { requiredKeys: ['kind', 'filter'] },
);
const rows: Arbitrary<Row> = fc.oneof(
  { weight: 8, arbitrary: record({ id: ids, plant: plants }) },
  { weight: 1, arbitrary: oneOf<Row[]>('blank', 'without a name', 'with a wrong id') },
);
const imports = record(
  {
    kind: fc.constant('import' as const),
    format: oneOf<('ndjson' | 'csv' | 'json')[]>('ndjson', 'csv', 'json'),
    rows: fc.array(rows, { maxLength: 5 }),
    onConflict: oneOf<('error' | 'skip' | 'replace')[]>('error', 'skip', 'replace'),
    mode: oneOf<('atomic' | 'dryRun')[]>('atomic', 'dryRun'),
    maxErrors: oneOf(0, 1),
  },
  { requiredKeys: ['kind', 'format', 'rows'] },
);
const wrongRequests = record({
  kind: fc.constant('wrong' as const),
  index: fc.integer({ min: 0, max: WRONG_REQUESTS.length - 1 }),
});

/** What the store contains at first. */
export const contents: Arbitrary<Record<string, Plant>> = fc.dictionary(oneOf(...ID_VALUES), plants, {
  noNullPrototype: true,
});

/** Most requests succeed with the first token, so that others find something. */
const tokens = fc.oneof(
  { weight: 12, arbitrary: fc.constant<TokenName>('full') },
  { weight: 8, arbitrary: oneOf<TokenName[]>('mortal', 'other') },
  { weight: 3, arbitrary: oneOf(...TOKEN_NAMES) },
);
const leaves: Arbitrary<Leave> = fc.oneof(
  {
    weight: 8,
    arbitrary: record({
      turns: oneOf(0, 1, 2, 4, 8, 16, 32, 64),
      by: oneOf<('reset' | 'end')[]>('reset', 'reset', 'end'),
    }),
  },
  { weight: 1, arbitrary: fc.constant('before the end' as const) },
);
const preconditions = record({
  header: oneOf<Precondition['header'][]>('If-Match', 'If-Match', 'If-None-Match'),
  tags: fc.oneof(
    oneOf<TagChoice[][]>(['current'], ['earlier'], ['*'], ['weak'], ['foreign']),
    fc.array(oneOf<TagChoice[]>('current', 'earlier', 'weak', 'foreign'), { minLength: 2, maxLength: 3 }),
  ),
});
/** The first is often the key of several requests, which is an error. */
const keys = oneOf('a', 'a', 'b', 'c', 'd');

type Part = Arbitrary<PlantRequest>;
/** @returns requests of which `percent` % have a key, a precondition, and a client that leaves */
const sent = (request: Part, percent: { key: number; precondition: number; leave: number }): Arbitrary<Sent> => {
  const some = <Value>(arbitrary: Arbitrary<Value>, share: number) =>
    fc.oneof({ weight: 100 - share, arbitrary: fc.constant(undefined) }, { weight: share, arbitrary });
  return record({
    instance: instances,
    token: tokens,
    request,
    key: some(keys, percent.key),
    precondition: some(preconditions, percent.precondition),
    leave: some(leaves, percent.leave),
  }).map(withoutUndefined);
};

const withoutUndefined = <Value extends object>(value: Value) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;

const again: Arbitrary<Again> = record({
  again: oneOf(0, 0, 1, 2, 3),
  instance: instances,
  isSpelledDifferently: fc.boolean(),
  leave: fc.option(leaves, { freq: 12, nil: undefined }),
}).map(withoutUndefined);

const singles = fc.oneof(
  { weight: 9, arbitrary: sent(creations, { key: 40, precondition: 2, leave: 4 }) },
  { weight: 8, arbitrary: sent(changes, { key: 35, precondition: 40, leave: 4 }) },
  { weight: 4, arbitrary: sent(reads, { key: 5, precondition: 30, leave: 1 }) },
  { weight: 5, arbitrary: again },
);

/** Of a group, at most one reads or changes several plants: two would need an order that READ COMMITTED does not promise. */
const groups = fc
  .tuple(
    fc.array(singles, { minLength: 1, maxLength: 3 }),
    fc.option(sent(fc.oneof(lists, exports, imports, changesOfMany), { key: 0, precondition: 0, leave: 10 }), {
      freq: 3,
      nil: undefined,
    }),
  )
  .map(([some, several]) => (several === undefined ? some : [several, ...some]));

/** Requests for one plant to one instance: they share a statement, or wait for each other. */
const meetings = fc
  .tuple(
    ids,
    instances,
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: sent(creations, { key: 20, precondition: 0, leave: 2 }) },
        { weight: 1, arbitrary: sent(changes, { key: 30, precondition: 40, leave: 2 }) },
      ),
      { minLength: 2, maxLength: 3 },
    ),
  )
  .map(([id, instance, parts]) =>
    parts.map((part): Sent => ({ ...part, instance, request: { ...part.request, id } as PlantRequest })),
  );

export const operations: Arbitrary<Operation> = fc.oneof(
  { weight: 24, arbitrary: record({ send: fc.tuple(singles) as Arbitrary<(Sent | Again)[]> }) },
  { weight: 8, arbitrary: record({ send: groups }) },
  { weight: 4, arbitrary: record({ send: meetings }) },
  { weight: 2, arbitrary: record({ send: fc.tuple(sent(changes, { key: 100, precondition: 60, leave: 70 })) }) },
  { weight: 3, arbitrary: record({ send: fc.tuple(sent(lists, { key: 5, precondition: 5, leave: 1 })) }) },
  { weight: 4, arbitrary: record({ walk: record({ limit: fc.integer({ min: 1, max: 2 }), filter: wideFilters }) }) },
  { weight: 3, arbitrary: record({ send: fc.tuple(sent(imports, { key: 5, precondition: 0, leave: 5 })) }) },
  { weight: 3, arbitrary: record({ send: fc.tuple(sent(changesOfMany, { key: 0, precondition: 0, leave: 5 })) }) },
  { weight: 2, arbitrary: record({ send: fc.tuple(sent(exports, { key: 0, precondition: 0, leave: 5 })) }) },
  { weight: 2, arbitrary: record({ send: fc.tuple(sent(wrongRequests, { key: 30, precondition: 0, leave: 0 })) }) },
  { weight: 1, arbitrary: record({ revoke: record({ fiveSecondsPass: fc.boolean(), instance: instances }) }) },
  { weight: 1, arbitrary: fc.constant({ wait: 'for the token to expire' } as const) },
  { weight: 1, arbitrary: fc.constant({ expire: 'all keys' } as const) },
) as Arbitrary<Operation>;
