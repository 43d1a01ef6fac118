import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';
import { databaseUrl, TEMPLATE } from '../support/test-database.ts';

const IMAGE = 'postgres:18';

/** Starts one PostgreSQL for all tests, with a migrated database that tests clone. */
const startPostgres = async (): Promise<void> => {
  const server = (await startContainer()) ?? (await startEmbedded());
  Object.assign(globalThis, { stopPostgres: server.stop });
  process.env.TEST_POSTGRES_URL = server.url;
  const client = new Client({ connectionString: server.url });
  await client.connect();
  // Tests create and drop hundreds of databases, and each waits for the disk otherwise. No test here stops this server.
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes'])
    await client.query(`ALTER SYSTEM SET ${setting} = off`);
  await client.query('SELECT pg_reload_conf()');
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
  await promisify(execFile)(process.execPath, ['src/main.ts', 'migrate'], {
    env: { ...process.env, DATABASE_URL: databaseUrl(TEMPLATE) },
  });
};

export default startPostgres;

const startContainer = async () => {
  try {
    await getContainerRuntimeClient();
  } catch {
    say('No Docker engine answers: the tests run on the embedded PostgreSQL 18.');
    return undefined;
  }
  try {
    const container = await new GenericContainer(IMAGE)
      .withEnvironment({ POSTGRES_PASSWORD: 'test' })
      .withExposedPorts(5432)
      // Not the log: the image starts its server twice, first only on a socket. Not a health check: Docker would repeat
      // it until the end and slow down the tests.
      .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready -U postgres -h 127.0.0.1'))
      .start();
    say(`Docker answers: the tests run on Testcontainers with ${IMAGE}.`);
    const url = `postgresql://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
    return { url, stop: () => container.stop() };
  } catch (error) {
    say(`Docker answers but starts no ${IMAGE} (${error}): the tests run on the embedded PostgreSQL 18.`);
    return undefined;
  }
};

const startEmbedded = async () => {
  const folder = makeTemporaryFolder();
  const { url, release } = await leaseEmbeddedPostgres(folder);
  const stop = async () => {
    await release();
    rmSync(folder, { recursive: true });
  };
  return { url, stop };
};

const say = (line: string) => process.stderr.write(`\n${line}\n`);
