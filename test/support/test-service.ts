import { Writable } from 'node:stream';
import { pino } from 'pino';
import supertest from 'supertest';
import { type Config, readConfig } from '../../src/config/config.ts';
import { classifyDatabaseError } from '../../src/database/database-error.ts';
import { REDACT } from '../../src/observability/logger.ts';
import { describeAt } from '../../src/openapi-document.ts';
import { limitRequests, type RequestLimits } from '../../src/request-limits.ts';
import { createService } from '../../src/service.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { createAnswerCheck } from './check-answer.ts';
import { scrape } from './scrape.ts';
import { createTestDatabase, openTestDatabase } from './test-database.ts';
import { unwatchAnswers, watchAnswers } from './watch-answers.ts';
import { watchedServices } from './watched-services.ts';

type LogLine = Record<string, unknown> & { level: string; msg: string };

type TestServiceOptions = {
  migrated?: boolean;
  databaseUrl?: string;
  /** Settings that variables do not allow, such as shorter times. */
  settings?: Partial<Config>;
  requestLimits?: Partial<RequestLimits>;
};

/** On a busy machine, a request may take longer than REQUEST_TIMEOUT by default, 10 s. */
const PATIENT = { PORT: '0', REQUEST_TIMEOUT: '60' };
/** Far longer than a test locks a table to make the database slow, even on a busy machine. Tests of locks set their own. */
const LOCK_TIMEOUT = 60_000;
/** In production, 1.5 s. A busy machine may take longer to open a connection. */
const CONNECT_TIMEOUT = 12_000;

const { lockTimeout, ...limits } = limitRequests(readConfig(PATIENT));
/** Locks are waited for as long as in production. */
export const shippedLocks: Partial<RequestLimits> = { lockTimeout };
/** For a short REQUEST_TIMEOUT that is to end a connection, and nothing else. */
export const patientLimits: Partial<RequestLimits> = { ...limits, connectTimeout: CONNECT_TIMEOUT };
const { lookUpTimeout, tokens, newTokens } = limits;
/** For a short REQUEST_TIMEOUT, of which token lookups get a fifth. */
export const patientLookUps: Partial<RequestLimits> = { lookUpTimeout, tokens, newTokens };

/** Retries what still does not get a connection in time. */
export const retryConnecting = async <Result>(send: () => Promise<Result>, attempts = 10): Promise<Result> => {
  try {
    return await send();
  } catch (error) {
    if (attempts === 1 || classifyDatabaseError(error) !== 'unreachable') throw error;
    return retryConnecting(send, attempts - 1);
  }
};

const answerChecks = new Map<string, ReturnType<typeof createAnswerCheck>>();

/** Compiling the schemas takes longer than a start, so services with the same base path share them. */
const answerCheckOf = ({ basePath }: { basePath: string }) => {
  const check = answerChecks.get(basePath) ?? createAnswerCheck(describeAt(basePath), basePath);
  answerChecks.set(basePath, check);
  return check;
};

/**
 * Starts the production service on a new database, with a token that has all scopes; or, without a token, on the database at
 * `databaseUrl`.
 */
export const startTestService = async (environment: Record<string, string> = {}, options: TestServiceOptions = {}) => {
  const { migrated = true, databaseUrl, settings, requestLimits } = options;
  const database = databaseUrl === undefined ? await createTestDatabase({ migrated }) : openTestDatabase(databaseUrl);
  const log: LogLine[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      log.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const logger = pino(
    { level: 'info', base: null, redact: REDACT, formatters: { level: (level) => ({ level }) } },
    stream,
  );
  const config = { ...readConfig({ ...PATIENT, ...environment }), ...settings };
  const service = await createService({
    config,
    databaseUrl: database.url,
    logger,
    requestLimits: {
      ...limitRequests(config),
      lockTimeout: LOCK_TIMEOUT,
      connectTimeout: CONNECT_TIMEOUT,
      ...requestLimits,
    },
  });
  const port = await service.start();
  watchedServices.add(service);
  watchAnswers(port, answerCheckOf(config));
  const baseUrl = `http://127.0.0.1:${port}`;
  const token =
    migrated && databaseUrl === undefined
      ? await retryConnecting(() => service.tokens.create({ name: 'test', scopes: SCOPES, expiresAt: null }))
      : '';
  const stopServer = async () => {
    await service.stop();
    watchedServices.delete(service);
    unwatchAnswers(port);
  };
  const agent = supertest(baseUrl);
  // Now, because a test may empty the log.
  const line = log.find(({ msg }) => msg === 'metrics are served');
  const metricsUrl = () => `http://${line?.host}:${line?.port}/metrics`;
  return {
    ...service,
    baseUrl,
    database,
    token,
    log,
    agent,
    /** Sends `POST /plants` with the token. A body that is a string is sent unchanged. */
    post: (body: object | string, headers: Record<string, string> = {}) =>
      agent
        .post('/plants')
        .set({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers })
        .send(typeof body === 'string' ? body : JSON.stringify(body)),
    /** A request with the token. */
    request: (method: 'get' | 'head' | 'put' | 'patch' | 'delete', path: string) =>
      agent[method](path).set('Authorization', `Bearer ${token}`),
    /** The row with this id. */
    stored: async (id: bigint | string) =>
      (await database.query('SELECT id, name, tag FROM plants WHERE id = $1', [String(id)]))[0],
    /** Where METRICS_PORT makes the service serve its metrics. */
    metricsUrl,
    metrics: () => scrape(metricsUrl()),
    /** Stops the service, as a signal does; `stop` also drops its database, unless it is that of `databaseUrl`. */
    stopServer,
    stop: async () => {
      await stopServer();
      await database.drop();
    },
  };
};

export type TestService = Awaited<ReturnType<typeof startTestService>>;
