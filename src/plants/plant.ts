import { z } from 'zod';
import { ApiError } from '../http/api-error.ts';

/** PostgreSQL's `text` holds every Unicode string without U+0000; an unpaired surrogate is no Unicode at all. */
const storableText = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'should be a string') })
  .refine((text) => !text.includes('\0'), 'should not contain U+0000, which cannot be stored')
  .refine((text) => text.isWellFormed(), 'should not contain an unpaired surrogate, which cannot be stored');

const int64 = z.int64({
  error: ({ input }) =>
    input === undefined
      ? 'is required'
      : 'should be a JSON number of integer value, from -9223372036854775808 to 9223372036854775807',
});

/** NewPlant, the body of `POST /plants` (specification §2). Other members are ignored. */
const newPlantSchema = z.object(
  { id: int64, name: storableText, tag: storableText.optional() },
  { error: 'should be a JSON object' },
);

export type NewPlant = z.infer<typeof newPlantSchema>;

/** Plant, the answer of `POST /plants` (specification §2): without the id, and never with a null. */
export type Plant = Omit<NewPlant, 'id'>;

/** @throws {ApiError} code 1003, with a JSON Pointer for every wrong field */
export const parseNewPlant = (body: unknown): NewPlant => {
  const result = newPlantSchema.safeParse(body);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) => ({
    pointer: path.map((key) => `/${String(key)}`).join(''),
    message,
  }));
  const sentences = fields.map(({ pointer, message }) => `${pointer.slice(1) || 'The body'} ${message}`);
  throw new ApiError('fieldWrong', `${sentences.join('; ')}.`, { fields });
};
