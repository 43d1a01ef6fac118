import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWK, SignJWT } from 'jose';

const ISSUER = 'https://login.example.com/';
const AUDIENCE = 'https://plants.example.com';

/** In seconds since 1970, as in JWTs. */
export const now = () => Math.floor(Date.now() / 1000);

/** Moves the clock. `jest.restoreAllMocks` moves it back. */
export const passTime = (duration: number): void => {
  const start = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => start + duration);
};

const keyPairs = new Map<string, Promise<GenerateKeyPairResult>>();

/** Generating a key pair may take half a second, so each is made once. */
const keyPair = (name: string, alg: string): Promise<GenerateKeyPairResult> => {
  const key = `${alg} ${name}`;
  const pair = keyPairs.get(key) ?? generateKeyPair(alg, { extractable: true });
  keyPairs.set(key, pair);
  return pair;
};

/** Starts an identity provider: an HTTP server with public keys, and tokens signed with the private keys. */
export const startIdentityProvider = async () => {
  const state = {
    requests: [] as string[],
    keys: [] as JWK[],
    status: 200,
    /** Sends the rest of the body, in place of the keys. */
    send: undefined as ((response: ServerResponse) => void) | undefined,
  };
  const server = createServer((request, response) => {
    state.requests.push(request.url ?? '');
    response.writeHead(state.status, { 'Content-Type': 'application/json' });
    if (state.send) state.send(response);
    else response.end(JSON.stringify({ keys: state.keys }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** Adds a key, which may be unpublished. */
  const addKey = async (kid: string, { alg = 'RS256', published = true } = {}) => {
    const { privateKey, publicKey } = await keyPair(`${kid} ${published}`, alg);
    const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
    if (published) state.keys.push(jwk);
    /** Signs a token with valid claims, except for those given; undefined removes a claim. */
    const sign = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => {
      const good = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', scope: 'plants:read plants:write', exp: now() + 60 };
      return new SignJWT({ ...good, ...claims }).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    };
    return { jwk, publicKey, sign };
  };

  return {
    url,
    state,
    addKey,
    environment: { AUTH_ISSUER: ISSUER, AUTH_AUDIENCE: AUDIENCE, AUTH_JWKS_URL: `${url}/jwks.json` },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;
