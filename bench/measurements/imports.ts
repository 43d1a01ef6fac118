/** Imports and exports: the store compared with `\copy` of psql. All use the table with all indexes of the store. */
import { join } from 'node:path';
import { BenchError } from '../command.ts';
import type { PlantsTable } from '../database/plants-table.ts';
import { countLines, exportFile, importFile, type PlantFiles, runPsql, writePlantFiles } from '../load/bulk.ts';
import type { Figures } from '../report.ts';
import { measureInRounds } from '../rounds.ts';
import { mebibytes } from '../targets/process-tree.ts';
import type { Store } from '../targets/store.ts';
import { type Bench, secondsOf } from './bench.ts';

const PSQL = 'psql \\copy';
/** What a line has besides the values. */
const NDJSON_BYTES = '{"id":,"name":"","tag":""}\n'.length;
const COPY_BYTES = '\t\t\n'.length;

export const measureImports = async (bench: Bench) => {
  const { options, store, stores, signal } = bench;
  const files = await writeFiles(bench);
  const rows = `${options.rows.toLocaleString('en')} plants`;
  const group = (title: string, ofStore: (of: Store) => Promise<Figures>, ofPsql: () => Promise<Figures>) => ({
    title: `${title}, ${rows}`,
    tasks: [...stores.map((of) => ({ title: of.title, measure: () => ofStore(of) })), { title: PSQL, measure: ofPsql }],
  });
  const load = () => importByPsql(store, files, signal);
  const unload = () => exportByPsql(bench);
  const groups = [
    group('POST /plants/import', (of) => importOverHttp(of, files, bench), load),
    group('plant-store import, start included', (of) => importByCommand(of, files), load),
    group('GET /plants/export', (of) => exportOverHttp(of, bench), unload),
  ];
  return measureInRounds(groups, { rounds: options.rounds, signal });
};

export const writeFiles = ({ options: { rows }, store: { table, databaseUrl }, folder, signal }: Bench) =>
  writePlantFiles({ table, rows, folder }, { databaseUrl, signal });

export const importOverHttp = async ({ table, open }: Store, files: PlantFiles, bench: Bench): Promise<Figures> => {
  await using server = await open();
  // After the start, because a server stores a plant as it starts.
  await table.reset('all');
  const seconds = await secondsOf(() => importFile(files, server, bench));
  return { ...(await figuresOfImport(table, files, seconds)), 'peak MiB': mebibytes('VmHWM', server.pid) };
};

const importByCommand = async ({ table, run }: Store, files: PlantFiles) => {
  await table.reset('all');
  return figuresOfImport(table, files, await secondsOf(() => run('import', files.ndjson, '--json')));
};

const importByPsql = async ({ table, databaseUrl }: Store, files: PlantFiles, signal: AbortSignal) => {
  await table.reset('all');
  const copy = `\\copy plants FROM '${files.csv}' WITH (FORMAT csv)`;
  return figuresOfImport(table, files, await secondsOf(() => runPsql({ databaseUrl, signal }, '-c', copy)));
};

const figuresOfImport = async (table: PlantsTable, { rows }: PlantFiles, seconds: number) => {
  const stored = await table.count();
  if (stored !== rows) throw new BenchError(`${stored} rows instead of ${rows}`);
  return { 'rows/s': rows / seconds };
};

const exportOverHttp = async ({ table, open }: Store, bench: Bench): Promise<Figures> => {
  await using server = await open();
  await table.fillTo(bench.options.rows);
  const file = join(bench.folder, 'export.ndjson');
  const seconds = await secondsOf(() => exportFile(file, server, bench));
  return {
    ...(await figuresOfExport(table, file, NDJSON_BYTES, seconds)),
    'peak MiB': mebibytes('VmHWM', server.pid),
  };
};

const exportByPsql = async ({ options, store: { table, databaseUrl }, folder, signal }: Bench): Promise<Figures> => {
  await table.fillTo(options.rows);
  const file = join(folder, 'export.tsv');
  const copy = '\\copy (SELECT id, name, tag FROM plants ORDER BY id) TO STDOUT';
  const seconds = await secondsOf(() => runPsql({ databaseUrl, signal }, '-o', file, '-c', copy));
  return figuresOfExport(table, file, COPY_BYTES, seconds);
};

const figuresOfExport = async (table: PlantsTable, file: string, bytesPerLine: number, seconds: number) => {
  const [counted, stored] = [await countLines(file), await table.contents()];
  const bytes = stored.bytes + stored.rows * bytesPerLine;
  if (counted.rows !== stored.rows || counted.bytes !== bytes) {
    throw new BenchError(`${counted.rows} lines of ${counted.bytes} bytes instead of ${stored.rows} of ${bytes}`);
  }
  return { 'rows/s': stored.rows / seconds };
};
