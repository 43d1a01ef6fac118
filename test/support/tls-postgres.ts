import { execFile } from 'node:child_process';
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';

const openssl = (...words: string[]) => promisify(execFile)('openssl', words);

/** Why this machine cannot create certificates; undefined if it can. */
export const findObstacle = async (): Promise<string | undefined> => {
  try {
    await openssl('version');
    return undefined;
  } catch {
    return 'openssl not found';
  }
};

const NEW_KEY = ['-newkey', 'rsa:2048', '-nodes', '-sha256'];

/** Creates a certificate authority. @returns the path of its certificate; the key is next to it */
export const makeAuthority = async (folder: string, name: string): Promise<string> => {
  const path = join(folder, name);
  await openssl(
    'req',
    '-x509',
    ...NEW_KEY,
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    `${path}.key`,
    '-out',
    path,
  );
  return path;
};

/** Creates a key and a certificate for a host, signed by an authority. With 0 days, it expires at once. */
export const makeCertificate = async (path: string, authority: string, host: string, days = 2) => {
  await openssl('req', ...NEW_KEY, '-subj', `/CN=${host}`, '-keyout', `${path}.key`, '-out', `${path}.csr`);
  writeFileSync(`${path}.ext`, `subjectAltName = DNS:${host}`);
  const signed = ['-CA', authority, '-CAkey', `${authority}.key`, '-set_serial', '2', '-extfile', `${path}.ext`];
  await openssl('x509', '-req', '-days', String(days), '-in', `${path}.csr`, ...signed, '-out', path);
};

/** Starts a PostgreSQL in `folder` that accepts only TLS, with a certificate for `host`. */
export const startTlsPostgres = async (folder: string, authority: string, host: string) => {
  const { url, release } = await leaseEmbeddedPostgres(folder);
  const directory = join(folder, 'postgres');
  const { uid, gid } = statSync(directory);
  await makeCertificate(join(directory, 'server.crt'), authority, host);
  for (const name of ['server.crt', 'server.crt.key']) {
    chownSync(join(directory, name), uid, gid);
    chmodSync(join(directory, name), 0o600);
  }
  writeFileSync(join(directory, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("ALTER SYSTEM SET ssl_key_file = 'server.crt.key'");
  await client.query('ALTER SYSTEM SET ssl = on');
  await client.query('SELECT pg_reload_conf()');
  await client.end();
  return { url, release };
};
