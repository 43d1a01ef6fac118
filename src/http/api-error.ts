import { type ErrorKind, errorCodes } from './error-codes.ts';
import type { ErrorBody } from './error-schema.ts';

/** A wrong field: where it is (a JSON Pointer, RFC 6901) and what would be right. */
export type FieldError = { pointer: string; message: string };

type ApiErrorOptions = { headers?: Record<string, string>; fields?: FieldError[]; cause?: unknown };

/** An answer that is not 200: the contract's Error object, with its status and headers. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: number;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly fields: FieldError[] | undefined;

  constructor(kind: ErrorKind, message: string, { headers = {}, fields, cause }: ApiErrorOptions = {}) {
    super(message, { cause });
    this.code = errorCodes[kind].code;
    this.status = errorCodes[kind].status;
    this.headers = headers;
    this.fields = fields;
  }

  /** The body: `{ error, message }`, and `errors` where fields are wrong. */
  toJSON(): ErrorBody {
    return { error: this.code, message: this.message, ...(this.fields && { errors: this.fields }) };
  }
}
