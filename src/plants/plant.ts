import { z } from 'zod';
import { StoreError } from '../errors.ts';

/** Any Unicode string that PostgreSQL's `text` can store: without U+0000 and unpaired surrogates. */
const storableText = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
  .refine((text) => !text.includes('\0'), 'must be text without U+0000, which cannot be stored')
  .refine((text) => text.isWellFormed(), 'must be text without unpaired surrogates, which cannot be stored')
  // Not \u0000, which PCRE and Go do not know.
  .meta({ pattern: '^[^\\x00]*$' });

export const MIN_INT64 = -9_223_372_036_854_775_808n;
export const MAX_INT64 = 9_223_372_036_854_775_807n;

const int64 = z.int64({
  error: ({ input }) =>
    input === undefined
      ? 'is required'
      : `must be a JSON number with an integer value from ${MIN_INT64} to ${MAX_INT64}`,
});

const NOT_AN_OBJECT = { error: 'must be a JSON object' };

/** Plant, the body of `PUT /plants/{id}` (specification §2). Other members, such as an id, are ignored. */
export const plantSchema = z.object(
  {
    name: storableText.describe('The name of the plant'),
    tag: storableText.optional().describe('Tag that specifies the type of the plant'),
  },
  NOT_AN_OBJECT,
);

/** NewPlant, the body of `POST /plants` (specification §2). */
export const newPlantSchema = z.object(
  { id: int64.describe('Identification number of the plant'), ...plantSchema.shape },
  NOT_AN_OBJECT,
);

/** A JSON Merge Patch of a Plant (RFC 7396). Null removes the tag. */
export const plantPatchSchema = z.object(
  { name: z.exactOptional(storableText), tag: z.exactOptional(storableText.nullable()) },
  NOT_AN_OBJECT,
);

export type NewPlant = z.infer<typeof newPlantSchema>;

/** Plant, the response of `POST /plants` (specification §2): without the id, and without the tag if there is none. */
export type Plant = z.infer<typeof plantSchema>;

/** A plant as it is stored and read. */
export type StoredPlant = NewPlant;

/** What a request demands of the stored version of a plant, by entity tags (RFC 9110 §13.1). */
export type Preconditions = {
  /** One of them must be that of the version. Undefined: any version will do. */
  ifMatch?: string[] | undefined;
  /** None of them may be; `*`: no version may be stored. */
  ifNoneMatch?: string[] | '*' | undefined;
};

/** The number of characters of its name and tag. */
export const lengthOf = ({ name, tag }: PlantText = {}): number => (name?.length ?? 0) + (tag?.length ?? 0);

/** The maximum memory of its name and tag, in bytes. */
export const textBytes = (plant?: PlantText): number => 2 * lengthOf(plant);

type PlantText = { name?: string | undefined; tag?: string | null | undefined };

/** A change to a stored plant. Undefined members stay as they are; null removes the tag. */
export type PlantChange = z.infer<typeof plantPatchSchema>;

/** The maximum and default number of plants on a page. */
export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;
/** The maximum number of plants that are read by their ids at once: as many as fit on a page by default. */
const MAX_IDS = 100;
/** The maximum `limit` of a change of many plants. */
const MAX_CHANGED = 100_000;

const ID_WRONG =
  'must be an integer, from -9223372036854775808 to 9223372036854775807, in decimal digits without leading zeros';
/**
 * The maximum length of `q`, in code points. PostgreSQL compares it at every position of a name, and no timeout can interrupt that
 * within one row: with a name of 1 MB (the default `BODY_LIMIT`), a longer `q` could take seconds.
 */
const MAX_Q_LENGTH = 100;
const Q_WRONG = `must have 1 to ${MAX_Q_LENGTH} characters`;
const CURSOR_WRONG = 'must be the cursor of a Link header';

const int64Text = (error: string) =>
  z
    .string({ error })
    .regex(/^-?(0|[1-9]\d{0,18})$/, { error, abort: true })
    .transform(BigInt)
    .pipe(z.int64({ error }));

export const integerText = (min: number, max: number) => {
  const error = `must be an integer from ${min} to ${max}`;
  const digits = z.string({ error }).regex(/^(0|[1-9]\d{0,5})$/, { error, abort: true });
  return digits.transform(Number).pipe(z.int().min(min, error).max(max, error));
};

/** A parameter that is `true` or `false`. */
export const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true')
  .pipe(z.boolean())
  .default(false);

/** The path of `/plants/{id}`. */
export const plantPathSchema = z.object({
  id: int64Text(ID_WRONG).meta({
    description: 'Identification number of the plant, in decimal digits',
    examples: [17],
  }),
});

/** The cursor after an id (in decimal digits). Encoded, so that clients do not construct their own. */
export const cursorAfter = (id: string): string => Buffer.from(id).toString('base64url');

const cursor = z
  .string({ error: CURSOR_WRONG })
  .transform((text, context) => {
    const id = Buffer.from(text, 'base64url').toString();
    // The decoder also reads one that was cut or changed, as another id.
    if (cursorAfter(id) !== text) context.addIssue(CURSOR_WRONG);
    return id;
  })
  .pipe(int64Text(CURSOR_WRONG));

/** The query of `GET /plants/{id}`. Reads refuse unknown parameters: a script with `?page=2` must not read page 1 forever. */
export const noQuerySchema = z.strictObject({});

/** The query of `GET /plants`. The parameters have no examples, because Swagger UI would fill them in. */
export const plantQuerySchema = z.strictObject({
  limit: integerText(1, MAX_LIMIT).default(DEFAULT_LIMIT).describe('The maximum number of plants on a page'),
  cursor: cursor.optional().meta({
    description:
      'Where the page starts. Use the URL in the Link header of the previous page; do not construct cursors.',
    // To clients, a cursor is text.
    ...{ type: 'string', format: undefined, minLength: 1 },
  }),
  tag: storableText.optional().describe('Only plants with exactly this tag'),
  id: z
    .union([z.string().transform((text) => [text]), z.array(z.string())])
    .pipe(z.array(int64Text(ID_WRONG)).max(MAX_IDS, `must be at most ${MAX_IDS} ids`))
    .optional()
    .describe(`Only plants with one of these ids: \`?id=17&id=18\`, at most ${MAX_IDS}`),
  q: storableText
    .refine((text) => text !== '' && [...text].length <= MAX_Q_LENGTH, Q_WRONG)
    .meta({ minLength: 1, maxLength: MAX_Q_LENGTH })
    .optional()
    .describe('Only plants whose name contains this text, ignoring case'),
});

/** Only plants with one of these ids, with this tag, and with this text in their name. */
export type PlantFilter = Partial<Pick<z.output<typeof plantQuerySchema>, 'id' | 'tag' | 'q'>>;

/** The query of `GET /plants/count`. */
export const plantCountQuerySchema = plantQuerySchema.pick({ tag: true, q: true });

/** The query of `DELETE /plants` and `PATCH /plants`. Without a filter, a program with a mistake would delete all plants. */
export const manyPlantsQuerySchema = plantQuerySchema
  .pick({ tag: true, id: true, q: true })
  .extend({
    limit: integerText(1, MAX_CHANGED)
      .optional()
      .describe('Only so many plants, the first in the order of ids: repeat the request until it changes none'),
    dryRun: flag.describe('Counts the plants and changes nothing'),
  })
  .refine(({ tag, id, q }) => (tag ?? id ?? q) !== undefined, { path: ['tag, id or q'], error: 'is required' });

export const idTaken = (id: bigint): Error => new StoreError('idTaken', `The id ${id} is taken.`);

/** By a constraint or a trigger that the operator has added. PostgreSQL's log has the reason. */
export const plantRejected = (cause?: unknown): StoreError =>
  new StoreError('fieldWrong', 'The database rejected the plant.', { cause });

export const plantUnknown = (id: bigint): Error =>
  new StoreError('plantUnknown', `There is no plant with the id ${id}.`);

/** A SHA-256 in base64url. */
const VERSION = /^"[\w-]{43}"$/;

const NO_VERSION =
  ' If-Match has no ETag as the service makes them, in quotes and without W/: a proxy that compresses responses may have changed it.';

/** The plant does not meet the preconditions of the request. Nothing was changed. */
export const preconditionFailed = (id: bigint, { ifMatch }: Preconditions): Error => {
  const isForeign = ifMatch?.some((tag) => VERSION.test(tag)) === false;
  const message = `The plant with the id ${id} does not meet the preconditions of the request.${isForeign ? NO_VERSION : ''}`;
  return new StoreError('preconditionFailed', message);
};
