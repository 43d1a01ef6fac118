import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import tls from 'node:tls';
import pg from 'pg';
import { readConfig } from '../src/config/config.ts';
import { sessionUrl } from '../src/database/database-url.ts';

// Runs in the image, for the compose files. Connects as the owner of the tables and creates the role of the service, or updates it.
// Then runs the files that its arguments name.

const ITERATIONS = 4096;

/** Non-ASCII spaces, and characters that SASLprep (RFC 4013 §2.1) drops. */
const SPACES = /[\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000]/g;
const DROPPED = /\u00AD|\u034F|\u1806|[\u180B-\u180D]|\u200C|\u200D|\u2060|[\uFE00-\uFE0F]|\uFEFF/g;

/** What PostgreSQL stores of a password (RFC 5802 §3, RFC 7677). The password itself would get into the log of the server. */
const verifier = (/** @type {string} */ password) => {
  const salt = randomBytes(16);
  const prepared = password.replace(SPACES, ' ').replace(DROPPED, '').normalize('NFKC');
  const salted = pbkdf2Sync(prepared, salt, ITERATIONS, 32, 'sha256');
  const keyOf = (/** @type {string} */ text) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  const serverKey = keyOf('Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
};

const updateRole = async () => {
  const { DATABASE_URL = '', STORE_PASSWORD = '' } = process.env;
  const { databaseUrl } = readConfig({ DATABASE_URL });
  if (databaseUrl === undefined)
    throw new Error('DATABASE_URL is not set. It must lead to PostgreSQL, as the owner of the tables.');
  if (STORE_PASSWORD === '')
    throw new Error('STORE_PASSWORD is not set. It must be the password of the role plant_store_server.');
  // As src/main.ts does for the program.
  if (/[?&]sslrootcert=system(&|$)/.test(DATABASE_URL))
    tls.setDefaultCACertificates([...tls.getCACertificates(), ...tls.getCACertificates('system')]);
  const client = new pg.Client(sessionUrl(databaseUrl));
  await client.connect();
  try {
    for (const file of ['deploy/postgres/store-role.sql', ...process.argv.slice(2)]) {
      const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
      // Without the commands of psql.
      await client.query(text.replace(/^\\.*$/gm, ''));
    }
    await client.query(`ALTER ROLE plant_store_server PASSWORD '${verifier(STORE_PASSWORD)}'`);
  } finally {
    await client.end();
  }
};

await updateRole().catch(({ message, code, detail, hint }) => {
  process.stderr.write(`${[message || code, detail, hint].filter(Boolean).join('\n')}\n`);
  process.exitCode = 1;
});
