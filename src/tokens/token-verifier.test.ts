import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import type { BatchLimits, QueueObserver } from '../batching/batch-queue.ts';
import { generateTokenText, hashTokenText, type Token } from './token.ts';
import { createTokenVerifier } from './token-verifier.ts';

const limits: BatchLimits = {
  batches: 1,
  batchItems: 100,
  batchBytes: 1_000_000,
  gatherTime: 0,
  queueItems: 5,
  queueBytes: 1_000_000,
  deadline: 10_000,
};

const tokenOf = (text: string): Token => ({
  name: 'test',
  hash: hashTokenText(text),
  scopes: [],
  createdAt: new Date(),
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
  isUseNoted: true,
});

const noteUse = async () => {};

/** Enough turns of the event loop for everything in these tests. */
const turns = async () => {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
};

/** A verifier whose lookups end when the test ends them, with the tokens of the given texts. */
const start = () => {
  const lookUps: { size: number; end: (...texts: string[]) => Promise<void>; fail: () => Promise<void> }[] = [];
  const verify = createTokenVerifier({
    tokens: {
      noteUse,
      findByHashes: (hashes) =>
        new Promise((resolve, reject) =>
          lookUps.push({
            size: hashes.length,
            end: (...texts) => {
              resolve(texts.map(tokenOf));
              return turns();
            },
            fail: () => {
              reject(new Error('failed'));
              return turns();
            },
          }),
        ),
    },
    limits: { tokens: limits, newTokens: limits },
  });
  const outcome = (text: string) =>
    verify(text).then(
      (token) => token?.name,
      ({ name }: Error) => name,
    );
  return { verify, outcome, lookUps, sizes: () => lookUps.map(({ size }) => size) };
};

const clock = performance.now.bind(performance);
let now = 0;
afterEach(() => {
  jest.restoreAllMocks();
});
/** Lets cached tokens expire. Nothing else here reads this clock. */
const expireCache = () => {
  now += 4001;
  jest.spyOn(performance, 'now').mockImplementation(() => clock() + now);
};

test('concurrent tokens are looked up together, each with its own outcome', async () => {
  const { outcome, lookUps, sizes } = start();
  const [good, bad, other] = [generateTokenText(), generateTokenText(), generateTokenText()];
  const outcomes = [outcome(good), outcome(bad), outcome(good)];
  await turns();
  outcomes.push(outcome(other), outcome(generateTokenText()));
  await turns();
  expect(sizes()).toEqual([2]);
  await lookUps[0]?.end(good);
  expect(sizes()).toEqual([2, 2]);
  await lookUps[1]?.end(other);
  expect(await Promise.all(outcomes)).toEqual(['test', undefined, 'test', 'test', undefined]);
  expect(await outcome(good)).toBe('test');
  expect(sizes()).toEqual([2, 2]);
});

test('each token gets its own row, in whatever order PostgreSQL returns them', async () => {
  const pending: ((tokens: Token[]) => void)[] = [];
  const findByHashes = () => new Promise<Token[]>((resolve) => pending.push(resolve));
  const verify = createTokenVerifier({
    tokens: { findByHashes, noteUse },
    limits: { tokens: limits, newTokens: limits },
  });
  const [occupying, bad, first, second] = Array.from({ length: 4 }, generateTokenText) as [
    string,
    string,
    string,
    string,
  ];
  const others = [verify(occupying)];
  await turns();
  const outcomes = [verify(bad), verify(first), verify(second)];
  await turns();
  pending[0]?.([]);
  await turns();
  pending[1]?.([
    { ...tokenOf(second), name: 'second' },
    { ...tokenOf(first), name: 'first' },
  ]);
  expect((await Promise.all(outcomes)).map((token) => token?.name)).toEqual([undefined, 'first', 'second']);
  await Promise.all(others);
});

test('unknown tokens do not delay a token that was valid before, not even while lookups fail', async () => {
  const { outcome, lookUps, sizes } = start();
  const good = generateTokenText();
  const first = outcome(good);
  await turns();
  await lookUps[0]?.end(good);
  expect(await first).toBe('test');

  const unknown = [outcome(generateTokenText())];
  await turns();
  // More than the queue limit.
  for (let turn = 0; turn < 6; turn++) unknown.push(outcome(generateTokenText()));
  expect(await unknown[6]).toBe('overloaded');
  expect(sizes()).toEqual([1, 1]);
  for (const [place, fails] of [
    [2, true],
    [3, false],
  ] as const) {
    expireCache();
    const again = outcome(good);
    await turns();
    expect(sizes()).toEqual(Array(place + 1).fill(1));
    await (fails ? lookUps[place]?.fail() : lookUps[place]?.end(good));
    expect(await again).toBe(fails ? 'Error' : 'test');
  }
  await lookUps[1]?.end();
  await lookUps.at(-1)?.end();
  expect(await Promise.all(unknown)).toEqual([...Array(6).fill(undefined), 'overloaded']);
});

test('a token that no longer exists is rejected once its cache entry expires', async () => {
  const { outcome, lookUps } = start();
  const good = generateTokenText();
  const first = outcome(good);
  await turns();
  await lookUps[0]?.end(good);
  expect(await first).toBe('test');
  expireCache();
  const again = outcome(good);
  await turns();
  await lookUps[1]?.end();
  expect(await again).toBeUndefined();
});

test('the check of a request in progress looks the token up, even if it is still trusted', async () => {
  const { lookUps, verify } = start();
  const good = generateTokenText();
  const first = verify(good);
  await turns();
  await lookUps[0]?.end(good);
  expect(await first).toMatchObject({ state: 'valid' });
  const again = verify(good, 'again');
  await turns();
  expect(lookUps.length).toBe(2);
  await lookUps[1]?.end();
  expect(await again).toBeUndefined();
});

test('an observer can run a lookup in the context of the first request that waits for it', async () => {
  const request = new AsyncLocalStorage<string>();
  const observer: QueueObserver<string | undefined> = {
    enter: () => request.getStore(),
    around: ([first = ''], run) => request.run(first, run),
  };
  const contexts: unknown[] = [];
  const pending: (() => void)[] = [];
  const findByHashes = () => {
    contexts.push(request.getStore());
    return new Promise<Token[]>((resolve) => pending.push(() => resolve([])));
  };
  const verify = createTokenVerifier({
    tokens: { findByHashes, noteUse },
    limits: { tokens: limits, newTokens: limits },
    observeQueue: () => observer as QueueObserver,
  });
  const outcomes = [request.run('first', () => verify(generateTokenText()))];
  await turns();
  for (const name of ['second', 'third']) outcomes.push(request.run(name, () => verify(generateTokenText())));
  await turns();
  pending[0]?.();
  await turns();
  expect(contexts).toEqual(['first', 'second']);
  pending[1]?.();
  expect(await Promise.all(outcomes)).toEqual([undefined, undefined, undefined]);
});

test('the token of a request under way is looked up again apart from unknown ones, even if it is no longer remembered', async () => {
  const verify = createTokenVerifier({
    tokens: { noteUse, findByHashes: async (hashes) => hashes.map((hash) => ({ ...tokenOf(''), hash })) },
    limits: { tokens: limits, newTokens: { ...limits, queueItems: 0 } },
  });
  await expect(verify(generateTokenText())).rejects.toThrow();
  expect(await verify(generateTokenText(), 'again')).toMatchObject({ state: 'valid' });
});
