import { type ErrorKind, errorCodes } from './error-codes.ts';
import type { ErrorBody, FieldError, Problem } from './error-schema.ts';

type ApiErrorOptions = { headers?: Record<string, string>; fields?: FieldError[]; cause?: unknown };

/** The path of the page about an error, below the base path. */
export const errorPagePath = (code: number): string => `/docs/errors/${code}`;

/** An answer that is not a success, with its status and headers. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: number;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly title: string;
  readonly fields: FieldError[] | undefined;

  constructor(kind: ErrorKind, message: string, { headers = {}, fields, cause }: ApiErrorOptions = {}) {
    super(message, { cause });
    const { code, status, title } = errorCodes[kind];
    this.code = code;
    this.status = status;
    this.title = title;
    this.headers = headers;
    this.fields = fields;
  }

  /** The default body: the contract's Error, which has these two members and no other (specification §2). */
  toJSON(): ErrorBody {
    return { error: this.code, message: this.message };
  }

  /** Problem details (RFC 9457 §3.1). `basePath`: that of the store, without a slash at its end. */
  toProblem(basePath: string): Problem {
    const { code, title, status, message: detail, fields } = this;
    const type = basePath + errorPagePath(code);
    return { type, title, status, detail, code, ...(fields && { errors: fields }) };
  }
}
