import { z } from 'zod';

/** Any Unicode string that PostgreSQL's `text` can store: without U+0000 and unpaired surrogates. */
export const storableText = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
  .refine((text) => !text.includes('\0'), 'must be text without U+0000, which cannot be stored')
  .refine((text) => text.isWellFormed(), 'must be text without unpaired surrogates, which cannot be stored')
  .meta({ pattern: '^[^\\u0000]*$' });

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
