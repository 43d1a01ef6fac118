import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Client } from 'pg';
import { type DatabaseLease, leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { errorCodes } from '../../src/http/error-codes.ts';
import { type Conversation, conversation } from '../support/fuzz/conversations.ts';
import { TOKEN } from '../support/fuzz/request-parts.ts';
import { createTally } from '../support/fuzz/tally.ts';
import { exchangeBytes, type RawAnswer } from '../support/raw-http.ts';
import { startStore } from '../support/store-process.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';

/** How many requests are sent at least: a few thousand, or what the long run says. */
const INPUTS = Number(process.env.FUZZ_INPUTS || 4000);
/** With the same seed, the same bytes are sent again. */
const SEED = Number(process.env.FUZZ_SEED || randomInt(2 ** 31));
/** Connections that are open at once. */
const BATCH = 800;
/**
 * What a request may take to arrive, in seconds: what some inputs wait for, as their end never comes. It is the store's
 * default, as a fifth of it is for the look-up of a token: 0.6 s of 3 were too little where 800 connections come at once
 * on a busy machine, and a 503 that says so is no finding of an input.
 */
const REQUEST_TIMEOUT = 10;
/** How long a connection may stay open, in ms: twice that, and the same again for a slow machine. */
const DEADLINE = 4 * REQUEST_TIMEOUT * 1000;
/** From so many batches on it can be said whether the memory grows. */
const ENOUGH_BATCHES = 20;

/** The last request on each connection; its answer closes it, so that nothing is ever cut off from this side. */
const GOODBYE = Buffer.from('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
const GOODBYE_ANSWER = '{"status":"live"}';

jest.setTimeout(3_600_000);

let folder: string;
let store: Awaited<ReturnType<typeof startStore>>;
let lease: DatabaseLease;
let database: Client;
beforeAll(async () => {
  folder = makeTemporaryFolder();
  store = await startStore({ DATA_DIR: folder, REQUEST_TIMEOUT: String(REQUEST_TIMEOUT) });
  lease = await leaseEmbeddedPostgres(folder);
  database = new Client({ connectionString: lease.url });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  if (store.process.exitCode === null) process.kill(store.pid, 'SIGTERM');
  await store.exited;
  await lease.release();
  rmSync(folder, { recursive: true });
});

test(`${INPUTS} fuzzed requests: no 5xx, no hang, no crash, no row without a 200, no token in the log`, async () => {
  const tally = createTally();
  const findings: string[] = [];
  const memory: number[] = [];
  let rows = 0;
  for (let batch = 0; tally.total() < INPUTS && findings.length === 0; batch++) {
    const results = await Promise.all(fc.sample(conversation, { seed: SEED + batch, numRuns: BATCH }).map(hold));
    for (const { sent, answers, fault } of results) {
      tally.count(
        sent,
        answers.filter(({ body }) => body !== GOODBYE_ANSWER),
      );
      const faults = fault ? [fault] : faultsOf(sent, answers);
      findings.push(...faults.map((text) => `${text}, sent (${sent.kind}): ${readable(sent)}`));
    }
    const stored = await takeRows();
    rows += stored.length;
    const answered = new Set(results.flatMap(({ answers }) => answers.map(({ status, body }) => `${status} ${body}`)));
    findings.push(...stored.filter((row) => !answered.has(`200 ${row}`)).map((row) => `not answered with 200: ${row}`));
    if (findings.length > 0) findings.unshift(`Again: FUZZ_SEED=${SEED + batch} FUZZ_INPUTS=1`);
    memory.push(residentMemory());
  }
  const [early, late] = [averageOf(memory, 1 / 4, 1 / 2), averageOf(memory, 3 / 4, 1)];
  report([...tally.lines(), `  ${rows} rows were stored; seed ${SEED}; ${early} MB early, ${late} MB late`]);
  expect(findings.slice(0, 10)).toEqual([]);
  expect(store.process.exitCode).toBeNull();
  expect(faultsOfLog().slice(0, 10)).toEqual([]);
  if (memory.length >= ENOUGH_BATCHES) expect(late).toBeLessThan(early * 1.2);
});

/** What is wrong with the log: a line that is no JSON, tells of a fault, or holds the token. */
const faultsOfLog = (): string[] => {
  const text = store.output.text;
  const lines = text
    .slice(0, text.lastIndexOf('\n'))
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const isFine = (line: string) => JSON.parse(line).level === 'info' && !line.includes(store.token.slice(6));
  return lines.length > INPUTS / 4 ? lines.filter((line) => !isFine(line)) : [`only ${lines.length} lines`];
};

/** Sends what one connection is to send, and waits until the store has closed it. */
const hold = async (sent: Conversation): Promise<{ sent: Conversation; answers: RawAnswer[]; fault?: string }> => {
  // What breaks off amid a trailer takes the first for the rest of it.
  const goodbyes = sent.framed ? [GOODBYE] : [GOODBYE, GOODBYE];
  const text = Buffer.concat([...sent.requests, ...goodbyes]).toString('latin1');
  const bytes = Buffer.from(text.replaceAll(TOKEN, store.token), 'latin1');
  try {
    const answers = await exchangeBytes({ port: Number(new URL(store.url).port), bytes, deadline: DEADLINE });
    return { sent, answers };
  } catch (error) {
    return { sent, answers: [], fault: String(error) };
  }
};

const ERROR_STATUSES = new Map<unknown, number>(Object.values(errorCodes).map(({ code, status }) => [code, status]));

/** What is wrong with the answers on one connection. */
const faultsOf = ({ framed, requests }: Conversation, answers: RawAnswer[]): string[] => {
  const isClosed = /^connection: close$/im.test(answers.at(-1)?.head ?? '');
  const isOneEach = answers.length === requests.length + 1;
  return [
    ...(answers.length === 0 ? ['no answer'] : []),
    ...(framed && !isOneEach && !isClosed ? [`${answers.length} answers to ${requests.length + 1} requests`] : []),
    ...answers.filter(({ status }) => status >= 500).map(({ status, body }) => `${status} ${body}`),
    ...answers.filter(isNoError).map(({ head, body }) => `an Error that is none: ${head}\r\n\r\n${body}`),
  ];
};

/** An answer from 400 on holds an Error with a code of its status, unless it was HEAD that asked. */
const isNoError = ({ status, body }: RawAnswer) =>
  status >= 400 && body !== '' && ERROR_STATUSES.get(JSON.parse(body).error) !== status;

/** Empties the table. @returns what the store answered, if it did, when it stored what was there */
const takeRows = async (): Promise<string[]> => {
  const { rows } = await database.query<{ name: string; tag: string | null }>('SELECT name, tag FROM plants');
  await database.query('TRUNCATE plants');
  return rows.map(({ name, tag }) => JSON.stringify(tag === null ? { name } : { name, tag }));
};

/** In MB; 0 where the system does not tell (it is Linux that does). */
const residentMemory = (): number => {
  const file = `/proc/${store.pid}/status`;
  return existsSync(file) ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(file, 'utf8'))?.[1]) / 1024 : 0;
};

const averageOf = (numbers: number[], from: number, to: number): number => {
  const part = numbers.slice(Math.floor(numbers.length * from), Math.ceil(numbers.length * to));
  return Math.round(part.reduce((sum, number) => sum + number, 0) / part.length);
};

const readable = ({ requests }: Conversation) =>
  JSON.stringify(Buffer.concat(requests).toString('latin1')).slice(0, 5000);

const report = (lines: string[]) => process.stderr.write(`\n${lines.join('\n')}\n`);
