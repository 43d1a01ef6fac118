import { z } from 'zod';
import { storableText } from './plant.ts';

/** The maximum and default number of plants on a page. */
export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;
/** The maximum number of plants that are read by their ids at once: as many as fit on a page by default. */
const MAX_IDS = 100;

const ID_WRONG = 'must be an integer, from -9223372036854775808 to 9223372036854775807, in decimal digits';
const LIMIT_WRONG = `must be an integer from 1 to ${MAX_LIMIT}`;
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
  .transform((text) => Buffer.from(text, 'base64url').toString())
  .pipe(int64Text(CURSOR_WRONG));

/** The query of `GET /plants/{id}`. Reads refuse unknown parameters: a script with `?page=2` must not read page 1 forever. */
export const noQuerySchema = z.strictObject({});

/** The query of `GET /plants`. The parameters have no examples, because Swagger UI would fill them in. */
export const plantQuerySchema = z.strictObject({
  limit: z
    .string({ error: LIMIT_WRONG })
    .regex(/^[1-9]\d{0,3}$/, { error: LIMIT_WRONG, abort: true })
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_LIMIT, LIMIT_WRONG))
    .default(DEFAULT_LIMIT)
    .describe('The maximum number of plants on a page'),
  cursor: cursor.optional().meta({
    description:
      'Where the page starts. Use the URL in the Link header of the previous page; do not construct cursors.',
    // To clients, a cursor is text.
    ...{ type: 'string', format: undefined },
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
