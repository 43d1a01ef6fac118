import { z } from 'zod';

/** Error, the default body of every answer but success (specification §2). */
export const errorSchema = z.object({
  error: z
    .int32()
    .meta({ format: 'int32', description: 'A stable code, which is never used again for something else.' }),
  message: z.string().describe('What is wrong, with the name of every wrong field, and what would be right.'),
});

const fieldErrorSchema = z.object({
  pointer: z.string().describe('Where the field is: a JSON Pointer (RFC 6901); empty for the whole body.'),
  detail: z.string().describe('What the field should be.'),
});

/** The body for clients that ask for `application/problem+json` (RFC 9457). */
export const problemSchema = z.object({
  type: z
    .string()
    .meta({ format: 'uri-reference', description: 'The page about this error: an absolute path on this host.' }),
  title: z.string().describe('A summary that is the same for each error of this code.'),
  status: z.int32().meta({ format: 'int32', description: 'The status of the answer.' }),
  detail: z.string().describe('What is wrong this time; the message of an Error.'),
  code: z.int32().meta({ format: 'int32', description: 'The stable code; the error of an Error.' }),
  errors: z.array(fieldErrorSchema).optional().describe('Every wrong field.'),
});

export type ErrorBody = z.infer<typeof errorSchema>;
export type Problem = z.infer<typeof problemSchema>;
export type FieldError = z.infer<typeof fieldErrorSchema>;
