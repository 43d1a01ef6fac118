import { z } from 'zod';
import { ApiError } from '../http/api-error.ts';

/** PostgreSQL's `text` holds every Unicode string without U+0000; an unpaired surrogate is no Unicode at all. */
export const storableText = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'should be a string') })
  .refine((text) => !text.includes('\0'), 'should not contain U+0000, which cannot be stored')
  .refine((text) => text.isWellFormed(), 'should not contain an unpaired surrogate, which cannot be stored')
  .meta({ pattern: '^[^\\u0000]*$' });

export const MIN_INT64 = -9_223_372_036_854_775_808n;
const MAX_INT64 = 9_223_372_036_854_775_807n;

const int64 = z.int64({
  error: ({ input }) =>
    input === undefined ? 'is required' : `should be a JSON number of integer value, from ${MIN_INT64} to ${MAX_INT64}`,
});

const NOT_AN_OBJECT = { error: 'should be a JSON object' };

/** Plant, the body of `PUT /plants/{id}` (specification §2). Other members are ignored, also an id. */
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

/** A JSON Merge Patch of a Plant (RFC 7396): what is named is replaced, a null removes. */
export const plantPatchSchema = z.object(
  { name: z.exactOptional(storableText), tag: z.exactOptional(storableText.nullable()) },
  NOT_AN_OBJECT,
);

export type NewPlant = z.infer<typeof newPlantSchema>;

/** Plant, the answer of `POST /plants` (specification §2): without the id, and never with a null. */
export type Plant = z.infer<typeof plantSchema>;

/** A plant as the store keeps it, and as it is read. */
export type StoredPlant = NewPlant;

/** What becomes of a stored plant: what is undefined stays, a tag that is null is removed. */
export type PlantChange = z.infer<typeof plantPatchSchema>;

/** @throws {ApiError} code 1003, with a JSON Pointer for every wrong field */
export const parseNewPlant = (body: unknown): NewPlant => parse(newPlantSchema, body);

/** @throws {ApiError} code 1003 */
export const parsePlant = (body: unknown): Plant => parse(plantSchema, body);

/** @throws {ApiError} code 1003 */
export const parsePlantPatch = (body: unknown): PlantChange => parse(plantPatchSchema, body);

const parse = <Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) => ({
    pointer: path.map((key) => `/${String(key)}`).join(''),
    detail: message,
  }));
  const sentences = fields.map(({ pointer, detail }) => `${pointer.slice(1) || 'The body'} ${detail}`);
  throw new ApiError('fieldWrong', `${sentences.join('; ')}.`, { fields });
};
