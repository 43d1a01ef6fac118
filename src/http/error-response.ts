import { z } from 'zod';
import { errors, fieldErrorSchema, type StoreError } from '../errors.ts';

/** Error, the default body of every error response (specification §2). */
export const errorSchema = z.object({
  error: z.int32().meta({ format: 'int32', description: 'A stable code. Codes are never reused.' }),
  message: z.string().describe('What is wrong and what is expected. Names every wrong field.'),
});

/** The body for clients that accept `application/problem+json` (RFC 9457). */
export const problemSchema = z.object({
  type: z.string().meta({
    format: 'uri-reference',
    description: 'Where this host explains the error: an absolute path and a fragment.',
  }),
  title: z.string().describe('A summary, the same for every error with this code.'),
  status: z.int32().meta({ format: 'int32', description: 'The HTTP status.' }),
  detail: z.string().describe('What is wrong with this request; the same as `message` in an Error.'),
  code: z.int32().meta({ format: 'int32', description: 'The stable code; the same as `error` in an Error.' }),
  errors: z.array(fieldErrorSchema).optional().describe('Every wrong field.'),
});

/** The response to a request that failed: its status, its headers, and both forms of its body. */
export const toErrorResponse = ({ kind, message, headers, fields }: StoreError) => {
  const { code, status, title } = errors[kind];
  return {
    status,
    // In seconds (RFC 9110 §10.2.3).
    headers: { ...(status === 503 && { 'Retry-After': '1' }), ...headers },
    /** The default: the contract's Error, with exactly these two members (specification §2). */
    body: { error: code, message } satisfies z.infer<typeof errorSchema>,
    /** Problem details (RFC 9457 §3.1). `basePath` has no trailing slash. */
    toProblem: (basePath: string): z.infer<typeof problemSchema> => {
      const type = `${basePath}/docs/errors#${code}`;
      return { type, title, status, detail: message, code, ...(fields && { errors: fields }) };
    },
  };
};
