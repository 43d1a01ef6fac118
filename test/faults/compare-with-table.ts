import { Client } from 'pg';
import { Knowledge, type Ledger } from './ledger.ts';

const ROWS_AT_ONCE = 50_000;

/** Compares every id that was sent with the table. */
export const compareWithTable = async (ledger: Ledger, databaseUrl: string) => {
  const rows = new Uint8Array(ledger.lastId() + 1);
  const broken: string[] = [];
  let stored = 0;
  for await (const id of storedIds(databaseUrl)) {
    stored++;
    if (id < 1 || id > ledger.lastId()) broken.push(`id ${id} is stored but was never sent`);
    else rows[id] = (rows[id] ?? 0) + 1;
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
  if (unexpected > 0) broken.push(`${unexpected} plants are stored although their clients were told otherwise`);
  return { stored, lost, doubled, broken };
};

/** Reads the whole table without its indexes. */
async function* storedIds(databaseUrl: string) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off');
    await client.query('BEGIN; DECLARE ids NO SCROLL CURSOR FOR SELECT id FROM plants');
    while (true) {
      const { rows } = await client.query<[string]>({ text: `FETCH ${ROWS_AT_ONCE} FROM ids`, rowMode: 'array' });
      if (rows.length === 0) return;
      for (const [id] of rows) yield Number(id);
    }
  } finally {
    await client.end();
  }
}
