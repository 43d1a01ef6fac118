import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { runProgram } from './run-program.ts';
import { useTestService } from './use-test-service.ts';

/** A service with a base path, commands that use it, and for each test an empty folder and an empty table. */
export const useRemoteCommands = () => {
  const service = useTestService({ BASE_PATH: '/api' });
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plant-store-remote-'));
    await service.database.query('TRUNCATE plants');
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const url = () => `${service.baseUrl}/api`;
  return {
    service,
    url,
    /** Of a file in the folder. */
    path: (name: string) => join(folder, name),
    run: (words: string[], environment: Record<string, string> = {}, outputError?: Error) =>
      runProgram(words, { PLANT_STORE_URL: url(), PLANT_STORE_TOKEN: service.token, ...environment }, outputError),
  };
};

/** Lines of NDJSON, with the ids 1 and up. */
export const plantLines = (count: number) =>
  Array.from({ length: count }, (_, index) => `{"id":${index + 1},"name":"Fir"}\n`).join('');
