import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { beforeEach } from '@jest/globals';
import type { Config } from '../../src/config/config.ts';
import { SCOPES } from '../../src/tokens/token.ts';
import { scrape } from './scrape.ts';
import { patientLookUps, type TestService } from './test-service.ts';
import { useTestService, useTestServices } from './use-test-service.ts';

/** In ms. Longer than anything takes on a busy machine. */
export const PATIENCE = 40_000;
export const NDJSON = 'application/x-ndjson';

type Counts = { created: number; replaced: number; skipped: number; failed: number };
type Summary = Counts & { errors: object[]; error?: number; message?: string; stoppedAt?: number };
type Import = { query?: string; type?: string; headers?: Record<string, string> };

export const counts = (created = 0, replaced = 0, skipped = 0, failed = 0): Counts => ({
  created,
  replaced,
  skipped,
  failed,
});

/** NDJSON. */
export const lines = (...rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** NDJSON of plants with these ids. */
export const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `{"id":${from + index},"name":"Fir ${from + index}"}\n`).join('');

/** Imports of the tests of a file, into an empty table. They share a service, unless a test calls `start`. */
export const useImports = () => {
  const shared = useTestService({ REQUEST_TIMEOUT: `${PATIENCE}ms` });
  const startService = useTestServices();
  let service: TestService;
  beforeEach(async () => {
    service = shared;
    service.log.splice(0);
    await service.database.query('TRUNCATE plants');
  });

  return {
    get service() {
      return service;
    },

    /** Starts a service for a test that needs settings or stops it, or that looks at its connections or tables. */
    start: async (
      environment: Record<string, string> = {},
      settings: Partial<Config> = {},
      requestLimits: NonNullable<Parameters<typeof startService>[1]>['requestLimits'] = {},
    ) => {
      const limits = { ...patientLookUps, connectionCheckInterval: 100, ...requestLimits };
      service = await startService(environment, { requestLimits: limits, settings });
    },

    importPlants: async (body: string | Buffer, { query = '', type = NDJSON, headers = {} }: Import = {}) => {
      const response = await fetch(`${service.baseUrl}/plants/import${query}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': type, ...headers },
        body: body as string,
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Summary };
    },

    /** A request whose body the test writes in pieces. */
    openImport: (query = '', headers: Record<string, string> = {}) => {
      const request = httpRequest(`${service.baseUrl}/plants/import${query}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': NDJSON, ...headers },
      });
      request.on('error', () => {});
      // Listens now, because the response may arrive before the test awaits it.
      const responded = once(request, 'response');
      responded.catch(() => {});
      return Object.assign(request, { responded });
    },

    /** The headers of another token, because one has at most half of the slots. */
    asOther: async () => ({
      Authorization: `Bearer ${await service.tokens.create({ name: crypto.randomUUID(), scopes: SCOPES, expiresAt: null })}`,
    }),

    stored: async () =>
      (await service.database.query('SELECT id, name, tag FROM plants ORDER BY id')).map(({ id, name, tag }) => [
        id,
        name,
        tag,
      ]),
    count: async () => Number((await service.database.query('SELECT count(*) FROM plants'))[0]?.count),

    /** The other sessions that imports have, without those of requests. */
    sessions: () =>
      service.database.query(
        `SELECT pid, state, query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND query ~ 'import_rows|firsts'`,
      ),

    metrics: () => {
      const line = service.log.find(({ msg }) => msg === 'metrics are served');
      return scrape(`http://${line?.host}:${line?.port}/metrics`);
    },

    /** The line that the log has of an import. */
    ended: () => service.log.find(({ msg }) => msg === 'import ended'),
  };
};

export const answerOf = async (request: ClientRequest & { responded?: Promise<unknown[]> }) => {
  const [response] = (await (request.responded ?? once(request, 'response'))) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode as number, body: JSON.parse(text) };
};
