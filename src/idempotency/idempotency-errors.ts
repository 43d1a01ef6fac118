/** The key came with another request before. */
export class KeyReusedError extends Error {
  override name = 'KeyReusedError';
}

/** The response is too long to be stored. Nothing was changed. */
export class ResponseTooLongError extends Error {
  override name = 'ResponseTooLongError';
}
