/**
 * What the store can answer instead of 200: the stable `error` of the body, and the status it comes with.
 * A code is never used again for something else (1300 to 1302 are kept for what is to come); README.md lists them.
 */
export const errorCodes = {
  bodyNotJson: { code: 1000, status: 400 },
  mediaTypeNotSupported: { code: 1001, status: 400 },
  bodyTooLarge: { code: 1002, status: 400 },
  fieldWrong: { code: 1003, status: 400 },
  idTaken: { code: 1004, status: 400 },
  parameterWrong: { code: 1005, status: 400 },
  requestNotHttp: { code: 1006, status: 400 },
  tokenMissing: { code: 1100, status: 401 },
  tokenNotValid: { code: 1101, status: 401 },
  scopeMissing: { code: 1102, status: 403 },
  pathUnknown: { code: 1200, status: 404 },
  plantUnknown: { code: 1201, status: 404 },
  methodNotAllowed: { code: 1202, status: 405 },
  requestTooSlow: { code: 1203, status: 408 },
  preconditionFailed: { code: 1204, status: 412 },
  tooManyRequests: { code: 1400, status: 429 },
  overloaded: { code: 1500, status: 503 },
  databaseUnreachable: { code: 1501, status: 503 },
  databaseNotMigrated: { code: 1502, status: 503 },
  identityProviderUnreachable: { code: 1503, status: 503 },
  stopping: { code: 1504, status: 503 },
  internal: { code: 1599, status: 500 },
} as const;

export type ErrorKind = keyof typeof errorCodes;
