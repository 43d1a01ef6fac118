import { type ErrorKind, errors, type FieldError } from './errors.ts';

type StoreErrorOptions = {
  headers?: Record<string, string> | undefined;
  fields?: FieldError[] | undefined;
  cause?: unknown;
};

/** Why a request has no success. The message is for clients, over HTTP as on the command line. */
export class StoreError extends Error {
  override name = 'StoreError';
  readonly kind: ErrorKind;
  /** Of the response, besides those that every response with its status has. */
  readonly headers: Record<string, string> | undefined;
  readonly fields: FieldError[] | undefined;

  constructor(kind: ErrorKind, message = errors[kind].example, { headers, fields, cause }: StoreErrorOptions = {}) {
    super(message, { cause });
    this.kind = kind;
    this.headers = headers;
    this.fields = fields;
  }

  get code(): number {
    return errors[this.kind].code;
  }
}

export const isOfKind = (error: unknown, ...kinds: ErrorKind[]): error is StoreError =>
  error instanceof StoreError && kinds.includes(error.kind);
