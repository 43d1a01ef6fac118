import { z } from 'zod';

/** Error, the default body of every error response (specification §2). */
export const errorSchema = z.object({
  error: z.int32().meta({ format: 'int32', description: 'A stable code. Codes are never reused.' }),
  message: z.string().describe('What is wrong and what is expected. Names every wrong field.'),
});

const fieldErrorSchema = z.object({
  pointer: z.string().describe('The field as a JSON Pointer (RFC 6901); empty for the whole body.'),
  detail: z.string().describe('What the field must be.'),
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

type FieldError = z.infer<typeof fieldErrorSchema>;

/** One kind of error. The OpenAPI document and the page /docs/errors are generated from it. */
export type ErrorCode = {
  /** The name in the code and in the examples of the OpenAPI document. */
  kind: string;
  /** Stable and never reused. */
  code: number;
  status: number;
  /** A summary that is the same each time (RFC 9457 §3.1.3). By default, the kind in words. */
  title: string;
  /** Completes the sentence "The service responds with this error when …". */
  when: string;
  /** What the client should do, in whole sentences. */
  advice: string;
  /** Also the message of an error that has none of its own. By default, `when` as a sentence. */
  example: string;
  exampleFields?: FieldError[];
  /** False for a 5xx that load causes: it is logged as a warning, without a stack. */
  isFault?: boolean;
};

type Definition = Omit<ErrorCode, 'kind' | 'title' | 'example'> & { title?: string; example?: string };

/** Completes the definitions of errors, which are keyed by their kind. */
export const defineErrors = <Kind extends string>(table: Record<Kind, Definition>) =>
  Object.fromEntries(
    Object.entries<Definition>(table).map(([kind, error]) => {
      const title = capitalize(kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
      return [kind, { kind, title, example: `${capitalize(error.when)}.`, ...error }];
    }),
  ) as Record<Kind, ErrorCode>;

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The path of an error's section on the error page, below the base path. */
export const errorPath = (code: number): string => `/docs/errors#${code}`;

type ApiErrorOptions = { headers?: Record<string, string>; fields?: FieldError[] | undefined; cause?: unknown };

/** An error response, with its status and headers. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: number;
  readonly status: number;
  readonly isFault: boolean;
  readonly headers: Record<string, string>;
  readonly #kind: ErrorCode;
  readonly #fields: FieldError[] | undefined;

  constructor(error: ErrorCode, message = error.example, { headers, fields, cause }: ApiErrorOptions = {}) {
    super(message, { cause });
    this.code = error.code;
    this.status = error.status;
    this.isFault = error.status >= 500 && error.isFault !== false;
    // In seconds (RFC 9110 §10.2.3).
    this.headers = { ...(error.status === 503 && { 'Retry-After': '1' }), ...headers };
    this.#kind = error;
    this.#fields = fields;
  }

  /** The same error with another message, caused by `cause`. */
  withMessage(message: string, cause: unknown): ApiError {
    return new ApiError(this.#kind, message, { headers: this.headers, cause });
  }

  /** The default body: the contract's Error, with exactly these two members (specification §2). */
  toJSON(): z.infer<typeof errorSchema> {
    return { error: this.code, message: this.message };
  }

  /** Problem details (RFC 9457 §3.1). `basePath` has no trailing slash. */
  toProblem(basePath: string): z.infer<typeof problemSchema> {
    const type = basePath + errorPath(this.code);
    const { code, status, message: detail } = this;
    return { type, title: this.#kind.title, status, detail, code, ...(this.#fields && { errors: this.#fields }) };
  }
}
