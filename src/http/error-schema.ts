import { z } from 'zod';

/** Error, the body of every answer but those of success (specification §2); `errors` is ours, for wrong fields. */
export const errorSchema = z.object({
  error: z
    .int32()
    .meta({ format: 'int32', description: 'A stable code, which is never used again for something else.' }),
  message: z.string().describe('What is wrong and, where it can be said, what would be right.'),
  errors: z
    .array(
      z.object({
        pointer: z.string().describe('Where the field is: a JSON Pointer (RFC 6901); empty for the whole body.'),
        message: z.string().describe('What the field should be.'),
      }),
    )
    .optional()
    .describe('Every field that is wrong.'),
});

export type ErrorBody = z.infer<typeof errorSchema>;
