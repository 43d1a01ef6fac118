import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/**
 * Runs the commands of README.md and docs/tutorial.md in this checkout, in order, as a reader would. Servers keep running for
 * the commands that follow on the page. A block behind a block of commands shows what the last of them prints: each of its
 * lines must be a line of the output, in this order, and `…` stands for any text. What other commands do is listed here.
 */

/** A command exits with 0 and prints something; or it prints `ready` and serves until the end; or another step of .ci/run runs it. */
type Run = { kind: 'exits'; expect: RegExp } | { kind: 'serves'; ready: RegExp } | { kind: 'elsewhere' };

const exits = (expect: RegExp): Run => ({ kind: 'exits', expect });
const [nothing, elsewhere]: Run[] = [exits(/^\s*$/), { kind: 'elsewhere' }];
const start: Run = { kind: 'serves', ready: /curl .*\n/ };

/** What commands do whose output is not shown, by the beginning of the command. */
const documents: Record<string, Record<string, Run | undefined>> = {
  'README.md': {
    'npm start': start,
    'curl -i http://127.0.0.1:3000/plants/9223372036854775807 ': exits(
      /^HTTP\/1\.1 200 OK[\s\S]*^\{"id":9223372036854775807,"name":"Ginkgo","tag":"Ginkgo biloba"\}$/m,
    ),
    "curl -i 'http://127.0.0.1:3000/plants?tag=": exits(
      /^HTTP\/1\.1 200 OK[\s\S]*^\[\{"id":9223372036854775807,"name":"Ginkgo","tag":"Ginkgo biloba"\}\]$/m,
    ),
    'curl -i -X PATCH ': exits(/^HTTP\/1\.1 200 OK[\s\S]*^\{"name":"Maidenhair","tag":"Ginkgo biloba"\}$/m),
    "printf 'id,name,tag": exits(/^HTTP\/1\.1 200 OK[\s\S]*^\{"created":2,"replaced":0,"skipped":0,"failed":0,/m),
    'npx plant-store import examples/': exits(/^[\d,]+ created, .* 0 failed in .*$/m),
    'docker compose up': elsewhere,
    'npm test': elsewhere,
    'npm run check': elsewhere,
  },
  'docs/tutorial.md': {
    'npm start': start,
    '(umask 077; npx plant-store token create --name maya ': exits(/^Save this token;/m),
    "printf 'id,name,tag": nothing,
    '(umask 077; npx plant-store token create --name noah ': exits(/^Save this token;/m),
    "curl -siw '\\n' $PLANTS/2000001 ": exits(
      /^HTTP\/1\.1 200 OK[\s\S]*^ETag: "otE3QoGBckceUxyE5DgHJE1mYXdwQyTyciNJKZg87TU"$[\s\S]*north gate/m,
    ),
    'curl -s -o /dev/null ': nothing,
    'npx plant-store token revoke noah': exits(/^Revoked "noah"\.$/m),
    'sleep 5': nothing,
    'for id in ': exits(/^(HTTP\/1\.1 204 No Content\n){5}\s*$/),
    'npx plant-store token revoke maya': exits(/^Revoked "maya"\.$/m),
    'npx plant-store token delete maya': exits(/^Deleted "maya"\.$/m),
    'npx plant-store token delete noah': exits(/^Deleted "noah"\.$/m),
  },
};

/** How long a command may take to exit or to be ready, in ms. The first one installs everything. */
const TIME_LIMIT = 600_000;

const ASSIGNMENT = /^[A-Z]+=/;

type Command = { text: string; shown?: string };

const readCommands = (text: string): Command[] => {
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(([block, language, content = ''], number) => {
    if (language !== 'sh') return [];
    const [{ index = 0 } = {}, next] = blocks.slice(number);
    const isShown = next && next[1] !== 'sh' && text.slice(index + block.length, next.index).trim() === '';
    const lines = content
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .filter(Boolean);
    return lines.map((line, at) =>
      isShown && at === lines.length - 1 ? { text: line, shown: next[2] as string } : { text: line },
    );
  });
};

/** Matches an output that has the lines that are shown. */
const toPattern = (shown: string): RegExp => {
  const lines = shown.split('\n').filter(Boolean);
  const patterns = lines.map((line) => `^${line.split('…').map(RegExp.escape).join('.*')}$`);
  return new RegExp(patterns.join('[\\s\\S]*'), 'm');
};

const serving: { child: ChildProcess; exited: Promise<unknown> }[] = [];

const startCommand = (command: string) => {
  // In a process group of its own, so that stop() reaches its children.
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  // Kept apart: otherwise curl's progress meter can end up in the middle of a line that is expected.
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const printed = () => `${output}\n${errors}`.replaceAll('\r\n', '\n');
  return { child, printed, exited: once(child, 'close') };
};

const hasExited = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

const stopServers = async () => {
  for (const { child, exited } of serving.splice(0)) {
    if (!hasExited(child)) process.kill(-(child.pid ?? 0), 'SIGINT');
    await exited;
  }
};

const run = async (command: string, how: Run) => {
  if (how.kind === 'elsewhere') return 'run by another step';
  const { child, printed, exited } = startCommand(command);
  const deadline = performance.now() + TIME_LIMIT;
  const isDone = () => hasExited(child) || (how.kind === 'serves' && how.ready.test(printed()));
  while (!isDone() && performance.now() < deadline) await setTimeout(50);
  if (how.kind === 'serves' && !hasExited(child) && isDone()) {
    serving.push({ child, exited });
    return 'serves';
  }
  if (!hasExited(child)) process.kill(-(child.pid ?? 0), 'SIGKILL');
  await exited;
  if (how.kind === 'exits' && child.exitCode === 0 && how.expect.test(printed())) return 'passed';
  const expected = how.kind === 'exits' ? how.expect : how.ready;
  throw new Error(`\`${command}\` exited with ${child.exitCode}. Expected: ${expected}\nPrinted: ${printed()}`);
};

const runDocument = async (file: string, known: Record<string, Run | undefined>) => {
  let assignments = '';
  const unused = new Set(Object.keys(known));
  for (const { text, shown } of readCommands(readFileSync(file, 'utf8'))) {
    if (ASSIGNMENT.test(text)) {
      assignments += `${text}\n`;
      continue;
    }
    const key = Object.keys(known).find((beginning) => text.startsWith(beginning));
    const how = shown === undefined ? known[key ?? ''] : exits(toPattern(shown));
    if (shown === undefined && key !== undefined) unused.delete(key);
    if (how === undefined)
      throw new Error(`${file} shows no output of a command that .ci/documents.ts does not list: ${text}`);
    process.stdout.write(`${text.slice(0, 90)}: ${await run(assignments + text, how)}\n`);
  }
  if (unused.size > 0) throw new Error(`${file} does not have: ${[...unused].join(', ')}`);
};

let failed = 0;
for (const [file, known] of Object.entries(documents)) {
  process.stdout.write(`--- ${file}\n`);
  try {
    await runDocument(file, known);
  } catch (error) {
    failed = 1;
    process.stdout.write(`${error}\n`);
  }
  await stopServers();
}
process.exit(failed);
