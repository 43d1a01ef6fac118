import { Client } from 'pg';
import { Knowledge, type Ledger } from './ledger.ts';
import { firs, type Plants } from './plants.ts';

const ROWS_AT_ONCE = 50_000;

/** Compares every plant that was sent with the table. */
export const compareWithTable = async (ledger: Ledger, databaseUrl: string, plants: Plants = firs) => {
  const rows = new Uint8Array(ledger.lastId() + 1);
  const broken: string[] = [];
  let [stored, changed] = [0, 0];
  for await (const [id, name, tag] of storedPlants(databaseUrl)) {
    stored++;
    const number = plants.numberOf(Number(id));
    const sent = plants.plantOf(number);
    if (name !== sent.name || tag !== sent.tag) changed++;
    if (number < 1 || number > ledger.lastId()) broken.push(`id ${id} is stored but was never sent`);
    else rows[number] = (rows[number] ?? 0) + 1;
  }
  let [lost, twice, unexpected] = [0, 0, 0];
  for (let id = 1; id < rows.length; id++) {
    const count = rows[id] ?? 0;
    if (count === 0 && ledger.knownOf(id) === Knowledge.stored) lost++;
    if (count > 1) twice++;
    if (count > 0 && ledger.knownOf(id) === Knowledge.notStored) unexpected++;
  }
  const doubled = twice + ledger.doubled();
  if (lost > 0) broken.push(`${lost} plants got 200 but are not stored`);
  if (doubled > 0) broken.push(`${doubled} plants were stored twice or got 200 twice`);
  if (changed > 0) broken.push(`${changed} plants are not stored as sent`);
  if (unexpected > 0) broken.push(`${unexpected} plants are stored although their clients were told otherwise`);
  return { stored, lost, doubled, broken };
};

/** Reads the whole table without its indexes. */
async function* storedPlants(databaseUrl: string) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off');
    await client.query('BEGIN; DECLARE stored NO SCROLL CURSOR FOR SELECT id, name, tag FROM plants');
    while (true) {
      const fetchNext = { text: `FETCH ${ROWS_AT_ONCE} FROM stored`, rowMode: 'array' };
      const { rows } = await client.query<[id: string, name: string, tag: string | null]>(fetchNext);
      if (rows.length === 0) return;
      yield* rows;
    }
  } finally {
    await client.end();
  }
}
