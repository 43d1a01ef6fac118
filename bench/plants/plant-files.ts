import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { plantOf } from './plant-names.ts';
import { randomId } from './random-id.ts';

/** Rows of a batch, the unit in which a client without an import would send them. */
export const BATCH_ROWS = 1000;

/** The same plants as NDJSON and as CSV without a header row. */
export type PlantFiles = {
  rows: number;
  ndjson: string;
  csv: string;
  /** Where each batch ends in the NDJSON file, in bytes. */
  batchEnds: number[];
};

/** Ids differ from those of every load, whose runs are numbered from 1. */
export const writePlantFiles = async (folder: string, rows: number): Promise<PlantFiles> => {
  const [ndjson, csv] = [join(folder, 'plants.ndjson'), join(folder, 'plants.csv')];
  await using jsonFile = await open(ndjson, 'w');
  await using csvFile = await open(csv, 'w');
  const batchEnds: number[] = [];
  for (let start = 0, end = 0; start < rows; start += BATCH_ROWS) {
    const numbers = Array.from({ length: Math.min(BATCH_ROWS, rows - start) }, (_, index) => start + index + 1);
    const plants = numbers.map((n) => randomId(BigInt(n))).map((id) => ({ id, ...plantOf(id) }));
    const lines = plants.map(({ id, ...plant }) => `{"id":${id},${JSON.stringify(plant).slice(1)}\n`);
    end += (await jsonFile.write(lines.join(''))).bytesWritten;
    batchEnds.push(end);
    await csvFile.write(plants.map(({ id, name, tag }) => `${id},"${name}","${tag}"\n`).join(''));
  }
  return { rows, ndjson, csv, batchEnds };
};

/** The batches as JSON arrays. */
export async function* readBatches({ ndjson, batchEnds }: PlantFiles): AsyncGenerator<string> {
  await using file = await open(ndjson);
  for (const [index, end] of batchEnds.entries()) {
    const start = batchEnds[index - 1] ?? 0;
    const { buffer } = await file.read(Buffer.allocUnsafe(end - start), 0, end - start, start);
    yield `[${buffer.toString().trimEnd().replaceAll('\n', ',')}]`;
  }
}
