/** The key came with another request before. */
export class KeyReusedError extends Error {
  override name = 'KeyReusedError';
}

/** Another instance is still working on the first request with this key. */
export class KeyInUseError extends Error {
  override name = 'KeyInUseError';
}

/** The response is too long to be kept. Nothing was changed. */
export class AnswerTooLongError extends Error {
  override name = 'AnswerTooLongError';
}
