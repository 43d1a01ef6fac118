import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/**
 * Runs every command of README.md in this checkout, in the order in which it stands there, as a reader would: what
 * serves is left running for those that need it. Fails where README.md has a command that this script does not know.
 */

/** How each command ends: by itself; or it serves, and says `ready` when it does; or another step of CI runs it. */
type Run = { kind: 'ends'; expect?: RegExp } | { kind: 'serves'; ready: RegExp; until: string } | { kind: 'elsewhere' };

const NEVER = 'the end';

const runs: Record<string, Run> = {
  'npm start': { kind: 'serves', ready: /curl .*\n/, until: NEVER },
  'npm test': { kind: 'elsewhere' },
  'npm run test:faults': { kind: 'elsewhere' },
  'npm run test:security': { kind: 'elsewhere' },
  'curl -i http://127.0.0.1:3000/plants -H': {
    kind: 'ends',
    expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"name":"Ginkgo","tag":"Ginkgo biloba"\}/m,
  },
  'curl -i http://127.0.0.1:3000/plants/9223372036854775807 -H': {
    kind: 'ends',
    expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"id":9223372036854775807,"name":"Ginkgo","tag":"Ginkgo biloba"\}/m,
  },
  "curl -i 'http://127.0.0.1:3000/plants?": {
    kind: 'ends',
    expect: /^HTTP\/1\.1 200 OK[\s\S]*\[\{"id":9223372036854775807,"name":"Ginkgo","tag":"Ginkgo biloba"\}/m,
  },
  'curl -i -X PUT': { kind: 'ends', expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"name":"Maidenhair","tag":"tree"\}/m },
  'curl -i -X PATCH': { kind: 'ends', expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"name":"Maidenhair"\}/m },
  'curl -i -X DELETE': { kind: 'ends', expect: /^HTTP\/1\.1 204 No Content/m },
  'npx plant-store token create --name alice --expires 30d': { kind: 'ends', expect: /^plant_[\w-]{43}$/m },
  'npx plant-store token list': { kind: 'ends', expect: /^alice +valid/m },
  'npx plant-store token revoke alice': { kind: 'ends' },
  'npm run studio': { kind: 'serves', ready: /5555/, until: 'docker compose up' },
  'docker compose up': { kind: 'elsewhere' },
  'docker compose --profile studio up': { kind: 'elsewhere' },
  'npm run openapi': { kind: 'ends' },
  'npm run client': { kind: 'ends' },
  'npm run check': { kind: 'ends' },
};

/** How long a command may take to end or to be ready, in ms: it may have to install everything first. */
const TIME_LIMIT = 600_000;

const blocks = [...readFileSync('README.md', 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
const commands = blocks.flatMap(([, block = '']) => block.trim().split('\n'));
const serving: { child: ChildProcess; exited: Promise<unknown>; until: string }[] = [];

const start = (command: string) => {
  // A group of its own, so that all of it can be stopped.
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output.text += chunk;
    });
  }
  return { child, output, exited: once(child, 'close') };
};

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

const stop = async ({ child, exited }: (typeof serving)[number]) => {
  process.kill(-(child.pid ?? 0), 'SIGINT');
  await exited;
};

const run = async (command: string, how: Run) => {
  if (how.kind === 'elsewhere') return 'run by another step';
  const { child, output, exited } = start(command);
  const deadline = performance.now() + TIME_LIMIT;
  const isDone = () => hasEnded(child) || (how.kind === 'serves' && how.ready.test(output.text));
  while (!isDone() && performance.now() < deadline) await setTimeout(50);
  if (how.kind === 'serves' && !hasEnded(child) && isDone()) {
    serving.push({ child, exited, until: how.until });
    return 'serves';
  }
  if (!hasEnded(child)) process.kill(-(child.pid ?? 0), 'SIGKILL');
  await exited;
  const asExpected = how.kind === 'ends' && child.exitCode === 0 && (how.expect?.test(output.text) ?? true);
  if (!asExpected) throw new Error(`\`${command}\` ended with ${child.exitCode} and not as it should:\n${output.text}`);
  return 'ended as it should';
};

let failed = 0;
try {
  for (const command of commands) {
    for (const server of serving.filter(({ until }) => command === until)) await stop(server);
    const key = Object.keys(runs).find(
      (known) => known === command || (known.startsWith('curl ') && command.startsWith(known)),
    );
    if (key === undefined) throw new Error(`README.md has a command that CI does not run: ${command}`);
    process.stdout.write(`${command.slice(0, 70)}: ${await run(command, runs[key] as Run)}\n`);
  }
} catch (error) {
  failed = 1;
  process.stdout.write(`${error}\n`);
}
for (const server of serving) if (!hasEnded(server.child)) await stop(server);
process.exit(failed);
