import { CONNECT_TIMEOUT, createDatabase, createPool } from '../database/database.ts';
import { createTokenRepository, type TokenRepository } from '../tokens/token-repository.ts';

/** How long a command waits for an answer of the database, in ms. */
const STATEMENT_TIMEOUT = 10_000;

/** Opens the tokens of a database for one use. */
export const withTokens = async <Result>(
  databaseUrl: string,
  use: (tokens: TokenRepository) => Promise<Result>,
): Promise<Result> => {
  const database = createDatabase({
    pool: createPool({
      url: databaseUrl,
      connections: 1,
      connectTimeout: CONNECT_TIMEOUT,
      statementTimeout: STATEMENT_TIMEOUT,
    }),
    onConnectionLost: () => {},
  });
  try {
    return await use(createTokenRepository({ database }));
  } finally {
    await database.$disconnect();
  }
};
