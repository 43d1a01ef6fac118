/** Attempts of a request in all. Their pauses add up to 4 s or more, in which a service is restarted. */
const MAX_ATTEMPTS = 6;
/** The pause after the first attempt, in ms. It doubles with each attempt. */
const FIRST_PAUSE = 250;
/** A response that asks for a longer pause is not waited for, in ms. */
const MAX_PAUSE = 60_000;

type Fetch = (request: Request) => Promise<Response>;

type RetryOptions = {
  fetch: Fetch;
  /** Resolves after so many ms; rejects when the signal aborts. */
  pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
};

/**
 * Gives each change an Idempotency-Key, unless it has one, and sends requests again that got 503, 429 or no response. The last response
 * or error is the result. Changes of many plants are sent once.
 */
export const createRetryingFetch =
  ({ fetch, pause = wait, random = Math.random }: RetryOptions): Fetch =>
  async (request) => {
    if (changesMany(request)) return fetch(request);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead && !request.headers.has('Idempotency-Key')) request.headers.set('Idempotency-Key', newKey());
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === MAX_ATTEMPTS;
      // A body can be read only once. In Node.js, a clone alone may lose its signal.
      const sent = isLast ? request : new Request(request.clone(), { signal: request.signal });
      const outcome = await fetch(sent)
        .then(withBody)
        .catch((error: unknown) => ({ error }));
      request.signal.throwIfAborted();
      const asked = outcome instanceof Response ? pauseAskedBy(outcome) : 0;
      if (isLast || asked === undefined || asked > MAX_PAUSE) {
        if (outcome instanceof Response) return outcome;
        throw outcome.error;
      }
      if (outcome instanceof Response) await outcome.body?.cancel();
      // Half of the pause is random, so that clients that failed together do not come back together.
      const own = FIRST_PAUSE * 2 ** (attempt - 1) * (0.5 + random() / 2);
      await pause(asked + own, request.signal);
    }
  };

/** Waits for the body of a result, because the connection may be lost within it. Only an export may be too large for that. */
const withBody = async (response: Response): Promise<Response> => {
  const isResult = pauseAskedBy(response) === undefined;
  if (isResult && !response.url.includes('/plants/export')) await response.clone().arrayBuffer();
  return response;
};

/** These take no key, so that a second one could change more plants than were asked for, or find those of the first one taken. */
const changesMany = ({ method, url }: Request) => {
  const { pathname } = new URL(url);
  return pathname.endsWith('/plants/import') || (['PATCH', 'DELETE'].includes(method) && pathname.endsWith('/plants'));
};

/** In ms; undefined if the request is not to be sent again. */
const pauseAskedBy = ({ status, headers }: Response): number | undefined => {
  if (status !== 503 && status !== 429) return undefined;
  const asked = headers.get('Retry-After') ?? '';
  // Seconds, or a date, as a proxy may send (RFC 9110 §10.2.3).
  return Math.max(0, 1000 * Number(asked) || Date.parse(asked) - Date.now() || 0);
};

/** Not `crypto.randomUUID`, which browsers have only on pages that came over HTTPS. */
const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

const wait = (milliseconds: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', onAbort, { once: true });
    // It may have been aborted since the attempt.
    if (signal.aborted) onAbort();
  });
