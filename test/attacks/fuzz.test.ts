import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Client } from 'pg';
import { type DatabaseLease, leaseEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { errors } from '../../src/errors.ts';
import { type Conversation, conversation } from '../support/fuzz/conversations.ts';
import { TOKEN } from '../support/fuzz/request-parts.ts';
import { createTally } from '../support/fuzz/tally.ts';
import { exchangeInTurn, type RawAnswer } from '../support/raw-http.ts';
import { startStore } from '../support/store-process.ts';
import { makeDataFolder } from '../support/temporary-folder.ts';

/** How many requests to send at least. */
const INPUTS = Number(process.env.FUZZ_INPUTS || 4000);
/** The same seed sends the same bytes. */
const SEED = Number(process.env.FUZZ_SEED || randomInt(2 ** 31));
/** Connections at a time. */
const BATCH = 800;
/**
 * In seconds. Inputs that never end wait this long. It is the default, since a fifth of it is for the token lookup: less is
 * too little for 800 new connections on a busy machine, and the resulting 503 is not a finding.
 */
const REQUEST_TIMEOUT = 10;
/** How long a connection may stay open, in ms: twice that, doubled for slow machines. */
const DEADLINE = 4 * REQUEST_TIMEOUT * 1000;
/** Fewer batches do not show whether the memory grows. */
const ENOUGH_BATCHES = 20;

/** The last request on each connection. The store closes the connection after the response, so that this side never does. */
const GOODBYE = Buffer.from('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
const GOODBYE_ANSWER = '{"status":"live"}';

jest.setTimeout(3_600_000);

let folder: string;
let store: Awaited<ReturnType<typeof startStore>>;
let lease: DatabaseLease;
let database: Client;
beforeAll(async () => {
  folder = makeDataFolder();
  store = await startStore({ DATA_DIR: folder, REQUEST_TIMEOUT: String(REQUEST_TIMEOUT) });
  lease = await leaseEmbeddedPostgres(folder);
  database = new Client({ connectionString: lease.url });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  if (store.process.exitCode === null) await store.stop();
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
    const allAnswers = results.flatMap(({ answers }) => answers);
    findings.push(...unansweredRows(stored, allAnswers));
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

/** Lines of the log that are not at level info or contain the token. */
const faultsOfLog = (): string[] => {
  const text = store.output.text;
  const lines = text
    .slice(0, text.lastIndexOf('\n'))
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const isFine = (line: string) => JSON.parse(line).level === 'info' && !line.includes(store.token.slice(6));
  return lines.length > INPUTS / 4 ? lines.filter((line) => !isFine(line)) : [`only ${lines.length} lines`];
};

/** Sends a conversation on one connection, one framed request after another, and waits until the store closes it. */
const hold = async (sent: Conversation): Promise<{ sent: Conversation; answers: RawAnswer[]; fault?: string }> => {
  // If an input ends inside a trailer, the first one is read as the rest of the trailer.
  const all = sent.framed ? [...sent.requests, GOODBYE] : [Buffer.concat([...sent.requests, GOODBYE, GOODBYE])];
  const requests = all.map((bytes) => Buffer.from(bytes.toString('latin1').replaceAll(TOKEN, store.token), 'latin1'));
  try {
    const answers = await exchangeInTurn({ port: Number(new URL(store.url).port), requests, deadline: DEADLINE });
    return { sent, answers };
  } catch (error) {
    return { sent, answers: [], fault: String(error) };
  }
};

const ERROR_STATUSES = new Map<unknown, number>(Object.values(errors).map(({ code, status }) => [code, status]));

/** The problems with the answers on one connection. */
const faultsOf = ({ framed, requests }: Conversation, answers: RawAnswer[]): string[] => {
  const isClosed = /^connection: close$/im.test(answers.at(-1)?.head ?? '');
  const isOneEach = answers.length === requests.length + 1;
  return [
    ...(answers.length === 0 ? ['no answer'] : []),
    ...(framed && !isOneEach && !isClosed ? [`${answers.length} answers to ${requests.length + 1} requests`] : []),
    ...answers.filter(({ status }) => status >= 500).map(({ status, body }) => `${status} ${body}`),
    ...answers.filter(isNoError).map(({ head, body }) => `not an Error: ${head}\r\n\r\n${body}`),
  ];
};

/** A response with a status of 400 or more must contain an Error whose code has this status, except to HEAD. */
const isNoError = ({ status, body }: RawAnswer) =>
  status >= 400 && body !== '' && ERROR_STATUSES.get(JSON.parse(body).error) !== status;

/**
 * The rows that no response contains, as findings. A change of many plants has only their number in its response, so that as many
 * rows may be in none.
 */
const unansweredRows = (stored: string[], answers: RawAnswer[]): string[] => {
  const bodies = answers.filter(({ status }) => status === 200).map(({ body }) => body);
  const answered = new Set(bodies);
  const rows = stored.filter((row) => !answered.has(row));
  const changed = bodies.reduce((sum, body) => sum + Number(/^\{"updated":(\d+)\}$/.exec(body)?.[1] ?? 0), 0);
  return rows.length > changed ? rows.map((row) => `not answered with 200: ${row}`) : [];
};

/** Empties the table. @returns the response to expect for each row */
const takeRows = async (): Promise<string[]> => {
  const { rows } = await database.query<{ name: string; tag: string | null }>('SELECT name, tag FROM plants');
  await database.query('TRUNCATE plants');
  return rows.map(({ name, tag }) => JSON.stringify(tag === null ? { name } : { name, tag }));
};

/** In MB; 0 if the system is not Linux. */
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
