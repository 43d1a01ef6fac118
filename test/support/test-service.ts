import { Writable } from 'node:stream';
import { pino } from 'pino';
import supertest from 'supertest';
import { readConfig } from '../../src/config.ts';
import { createOpenApiDocument } from '../../src/openapi/openapi-document.ts';
import { createService } from '../../src/service.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { createAnswerCheck } from './check-answer.ts';
import { createTestDatabase } from './test-database.ts';
import { watchAnswers } from './watch-answers.ts';

export type LogLine = Record<string, unknown> & { level: string; msg: string };

type TestServiceOptions = { migrated?: boolean; databaseUrl?: string };

/**
 * The production service with its log at hand, on a database of its own with a token that may do everything, or on
 * another's database at `databaseUrl`.
 */
export const startTestService = async (environment: Record<string, string> = {}, options: TestServiceOptions = {}) => {
  const { migrated = true, databaseUrl } = options;
  const database = await createTestDatabase({ migrated });
  const log: LogLine[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      log.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const logger = pino({ level: 'info', base: null, formatters: { level: (level) => ({ level }) } }, stream);
  const config = readConfig({ PORT: '0', ...environment });
  const service = await createService({ config, databaseUrl: databaseUrl ?? database.url, logger });
  const port = await service.start();
  watchAnswers(port, createAnswerCheck(createOpenApiDocument(config)));
  const baseUrl = `http://127.0.0.1:${port}`;
  const token =
    migrated && databaseUrl === undefined
      ? await service.tokens.create({ name: 'test', scopes: SCOPES, expiresAt: null })
      : '';
  const agent = supertest(baseUrl);
  return {
    ...service,
    baseUrl,
    database,
    token,
    log,
    agent,
    /** Sends a body, an object or JSON text as it stands, to `POST /plants` with the token. */
    post: (body: object | string, headers: Record<string, string> = {}) =>
      agent
        .post('/plants')
        .set({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers })
        .send(typeof body === 'string' ? body : JSON.stringify(body)),
    /** A request that carries the token. */
    request: (method: 'get' | 'head' | 'put' | 'patch' | 'delete', path: string) =>
      agent[method](path).set('Authorization', `Bearer ${token}`),
    /** What PostgreSQL holds under an id. */
    stored: async (id: bigint | string) =>
      (await database.query('SELECT id, name, tag FROM plants WHERE id = $1', [String(id)]))[0],
    /** Stops the service, as a signal does; `stop` also drops its database. */
    stopServer: service.stop,
    stop: async () => {
      await service.stop();
      await database.drop();
    },
  };
};

export type TestService = Awaited<ReturnType<typeof startTestService>>;
