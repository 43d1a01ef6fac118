import { AsyncResource } from 'node:async_hooks';
import { DatabaseTimeoutError } from '../database/within-time.ts';
import { type BatchLimits, createBatchQueue } from '../plants/batch-queue.ts';
import type { Token } from './token.ts';
import type { TokenRepository } from './token-repository.ts';

type Hash = Uint8Array<ArrayBuffer>;

type TokenLookUpsOptions = {
  tokens: Pick<TokenRepository, 'findByHashes'>;
  limits: BatchLimits;
};

/** Tokens that are looked up at the same time share a statement, whose shape does not depend on how many they are. */
export const createTokenLookUps = ({ tokens, limits }: TokenLookUpsOptions) => {
  const queue = createBatchQueue({
    run: async (lookUps: { hash: Hash; find: typeof tokens.findByHashes }[]) => {
      const hashes = lookUps.map(({ hash }) => hash);
      const found = await lookUps[0]?.find(hashes);
      const byHash = new Map(found?.map((token) => [keyOf(token.hash), token]));
      return hashes.map((hash) => byHash.get(keyOf(hash)));
    },
    bytesOf: () => 0,
    lateError: () => new DatabaseTimeoutError('The database did not answer in time.'),
    limits,
  });
  /**
   * Looks a token up by its hash. The statement is in the trace of the first request that waits for it.
   * @throws {OverloadedError} what PostgreSQL threw
   */
  return (hash: Hash): Promise<Token | undefined> => queue.add({ hash, find: AsyncResource.bind(tokens.findByHashes) });
};

const keyOf = (hash: Uint8Array) => Buffer.from(hash).toString('latin1');
