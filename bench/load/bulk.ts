/** Many plants at a time, with the lightest clients: curl for HTTP, `\copy` of psql for PostgreSQL alone. */
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BenchError, runCommand } from '../command.ts';
import { libpqVariables } from '../database/database.ts';
import type { PlantsTable } from '../database/plants-table.ts';

const LINE_FEED = 10;

/** The same plants as NDJSON and as CSV without a header row. */
export type PlantFiles = { rows: number; ndjson: string; csv: string };

type Folder = { folder: string; signal: AbortSignal };
type Database = { databaseUrl: string; signal: AbortSignal };
type Server = { url: string; token: string };

export const runPsql = ({ databaseUrl, signal }: Database, ...args: string[]) =>
  runCommand({
    file: 'psql',
    args: ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--set', 'FETCH_COUNT=10000', ...args],
    env: libpqVariables(databaseUrl),
    signal,
  });

/** Fills the table, and copies it into files. */
export const writePlantFiles = async (
  { table, rows, folder }: { table: PlantsTable; rows: number; folder: string },
  database: Database,
): Promise<PlantFiles> => {
  const [ndjson, csv] = [join(folder, 'plants.ndjson'), join(folder, 'plants.csv')];
  await table.reset();
  await table.fillTo(rows);
  await runPsql(database, '-c', `\\copy plants TO '${csv}' WITH (FORMAT csv)`);
  await runPsql(database, '-At', '-o', ndjson, '-c', 'SELECT row_to_json(plants) FROM plants');
  return { rows, ndjson, csv };
};

/** Sends the NDJSON file to `POST /plants/import`. @throws {BenchError} unless every row is stored */
export const importFile = async ({ rows, ndjson }: PlantFiles, server: Server, folder: Folder): Promise<void> => {
  const type = 'Content-Type: application/x-ndjson';
  const body = await curl('/plants/import', server, folder, '-X', 'POST', '-H', type, '-H', 'Expect:', '-T', ndjson);
  const { created, failed } = JSON.parse(body);
  if (created !== rows || failed !== 0)
    throw new BenchError(`imported ${created} of ${rows} rows: ${body.slice(0, 200)}`);
};

/** Writes `GET /plants/export` to a file. */
export const exportFile = (file: string, server: Server, folder: Folder) =>
  curl('/plants/export', server, folder, '--output', file);

const curl = async (path: string, { url, token }: Server, { folder, signal }: Folder, ...args: string[]) => {
  // Not as an argument, which every account on the machine can read.
  const headers = join(folder, 'headers.txt');
  await writeFile(headers, `Authorization: Bearer ${token}\n`);
  const always = ['--silent', '--show-error', '--fail-with-body', '-H', `@${headers}`];
  return runCommand({ file: 'curl', args: [...always, ...args, new URL(path, url).href], signal });
};

export const countLines = async (file: string) => {
  const counted = { rows: 0, bytes: 0 };
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    counted.bytes += chunk.length;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) counted.rows += 1;
  }
  return counted;
};
