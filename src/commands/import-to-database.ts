import { addAbortListener } from 'node:events';
import type { Config } from '../config/config.ts';
import { BULK_LOCK_TIMEOUT, COMMAND_CONNECT_TIMEOUT } from '../database/database.ts';
import { DatabaseUnreachableError } from '../database/database-error.ts';
import { assertSession } from '../database/database-url.ts';
import { OperationalError } from '../errors.ts';
import type { ReadRows } from '../imports/import.ts';
import { ImportInterruptedError } from '../imports/import-errors.ts';
import { importPlants } from '../imports/import-plants.ts';
import { createImportSessions } from '../imports/import-session.ts';
import { readRows } from '../imports/read-rows.ts';
import { readFileBytes } from './bulk-file.ts';
import { type FileOptions, type Importer, MAX_ARRAY_BYTES, summarizeInterruption } from './import-files.ts';
import { explainError, withSession } from './with-database.ts';

/** How long a cancelled statement may take to end, in ms. */
const GRACE = 2000;

/** Calls `use` with an importer that stores into the database, without the service. @throws errors of PostgreSQL, when it connects */
export const withDatabaseImporter = <Result>(
  config: Config,
  options: FileOptions,
  use: (importFile: Importer) => Promise<Result>,
): Promise<Result> =>
  withSession(config, async (url) => {
    assertSession(url, 'Importing');
    const sessions = createImportSessions({
      url,
      connectTimeout: COMMAND_CONNECT_TIMEOUT,
      count: 1,
      lockTimeout: BULK_LOCK_TIMEOUT,
      grace: GRACE,
      onConnectionLost: () => {},
    });
    const importFile: Importer = async (file, { signal, progress }) => {
      const read: ReadRows = ({ signal: whileWanted }) => {
        const bytes = readFileBytes(file.name, file, { signal: whileWanted, progress });
        const { delimiter, encoding } = options;
        const maxLineBytes = file.format === 'json' ? MAX_ARRAY_BYTES : config.bodyLimit;
        return readRows(bytes, { format: file.format, encoding, delimiter, maxLineBytes });
      };
      const ending = new AbortController();
      using _listener = addAbortListener(signal, () => ending.abort(new OperationalError('Interrupted.')));
      try {
        return await importPlants(read, options, { sessions, ending, progress });
      } catch (error) {
        if (!(error instanceof ImportInterruptedError)) throw error;
        const { cause, reason = (cause as Error).message, errors } = error;
        const isUnreachable = cause instanceof DatabaseUnreachableError;
        return summarizeInterruption(isUnreachable ? explainError(cause, () => config) : reason, error, errors);
      }
    };
    return use(importFile).finally(sessions.close);
  });
