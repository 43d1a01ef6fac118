import type { Request, Response } from 'express';
import { bearerToken, tokenNotValid } from './require-scope.ts';
import type { VerifyToken } from './token-verifier.ts';

/**
 * Checks the token of a request repeatedly until its response is sent, for requests that may take hours.
 * @returns a signal that is aborted with code 1101 once the token is revoked or expired
 */
export type WatchToken = (request: Request, response: Response) => AbortSignal;

type TokenWatchOptions = {
  verifyToken: VerifyToken;
  /** In ms. */
  interval: number;
};

export const createTokenWatch =
  ({ verifyToken, interval }: TokenWatchOptions): WatchToken =>
  (request, response) => {
    const ending = new AbortController();
    const text = bearerToken(request) ?? '';
    const check = () =>
      verifyToken(text, 'again').then(
        (token) => {
          if (token === undefined) ending.abort(tokenNotValid());
        },
        // The database is unreachable, which says nothing about the token. The next check may tell.
        () => {},
      );
    const timer = setInterval(check, interval);
    // Logs, metrics, traces and pipelines listen as well: one more than Node.js takes for a leak.
    response.setMaxListeners(20);
    response.once('close', () => clearInterval(timer));
    if (response.destroyed) clearInterval(timer);
    return ending.signal;
  };
