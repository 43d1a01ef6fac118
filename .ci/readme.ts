import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/**
 * Runs the commands of README.md in this checkout, in order, as a reader would. Servers keep running for the commands
 * that follow. Fails on a command that is not listed here.
 */

/** A command exits; or it prints `ready` and serves until the end; or another step of .ci/run runs it. */
type Run = { kind: 'exits'; expect?: RegExp } | { kind: 'serves'; ready: RegExp } | { kind: 'elsewhere' };

const runs: Record<string, Run> = {
  'npm start': { kind: 'serves', ready: /curl .*\n/ },
  'npm test': { kind: 'elsewhere' },
  'npm run test:faults': { kind: 'elsewhere' },
  'npm run test:security': { kind: 'elsewhere' },
  'curl -i http://127.0.0.1:3000/plants -H': {
    kind: 'exits',
    expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"name":"Ginkgo","tag":"Ginkgo biloba"\}/m,
  },
  'curl -i http://127.0.0.1:3000/plants/9223372036854775807 -H': {
    kind: 'exits',
    expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"id":9223372036854775807,"name":"Ginkgo","tag":"Ginkgo biloba"\}/m,
  },
  'curl -s -o /dev/null http://127.0.0.1:3000/plants -H': { kind: 'exits' },
  'curl -i -X POST': { kind: 'exits', expect: /^Idempotent-Replayed: true[\s\S]*\{"name":"Fir"\}/m },
  "curl -i 'http://127.0.0.1:3000/plants?": {
    kind: 'exits',
    expect: /^HTTP\/1\.1 200 OK[\s\S]*\[\{"id":9223372036854775807,"name":"Ginkgo","tag":"Ginkgo biloba"\}/m,
  },
  'curl -i -X PUT': { kind: 'exits', expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"name":"Maidenhair","tag":"tree"\}/m },
  'curl -i -X PATCH': { kind: 'exits', expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"name":"Maidenhair"\}/m },
  'curl -i -X DELETE': { kind: 'exits', expect: /^HTTP\/1\.1 204 No Content/m },
  "printf 'id,name,tag": { kind: 'exits', expect: /^HTTP\/1\.1 200 OK[\s\S]*\{"created":2,/m },
  "curl -i 'http://127.0.0.1:3000/plants/export": { kind: 'exits', expect: /^HTTP\/1\.1 200 OK[\s\S]*^id,name,tag$/m },
  'npx plant-store export /tmp/plants.csv.gz': { kind: 'exits', expect: /^Exported [\d,]+ plants\.$/m },
  'npx plant-store import /tmp/plants.csv.gz --on-conflict skip': {
    kind: 'exits',
    expect: /^0 created, .* 0 failed in .*$/m,
  },
  'npx plant-store import examples/': { kind: 'exits', expect: /^[\d,]+ created, .* 0 failed in .*$/m },
  'npx plant-store token create --name alice --expires 30d': { kind: 'exits', expect: /^plant_[\w-]{43}$/m },
  'npx plant-store token list': { kind: 'exits', expect: /^alice +valid/m },
  'npx plant-store token rotate alice --overlap 1h': { kind: 'exits', expect: /^plant_[\w-]{43}$/m },
  'npx plant-store token revoke alice': { kind: 'exits' },
  'npx plant-store token delete alice': { kind: 'exits' },
  'npm run studio': { kind: 'serves', ready: /5555/ },
  'psql "postgresql://plant_store:': { kind: 'exits' },
  'docker compose up': { kind: 'elsewhere' },
  'docker compose --profile replicas up haproxy': { kind: 'elsewhere' },
  'docker compose --profile studio up': { kind: 'elsewhere' },
  'npm run openapi': { kind: 'exits' },
  'npm run client': { kind: 'exits' },
  'npm run check': { kind: 'exits' },
  'npm run diagram': { kind: 'exits' },
};

/** How long a command may take to exit or to be ready, in ms. The first one installs everything. */
const TIME_LIMIT = 600_000;

const blocks = [...readFileSync('README.md', 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
const lines = blocks.flatMap(([, block = '']) => block.replaceAll(/\\\n\s*/g, '').split('\n'));
const commands = lines.map((line) => line.replace(/ +#.*$/, '').trim()).filter((line) => line && !line.startsWith('#'));
const serving: { child: ChildProcess; exited: Promise<unknown> }[] = [];

const start = (command: string) => {
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
  return { child, printed: () => `${output}\n${errors}`, exited: once(child, 'close') };
};

const hasExited = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

const stop = async ({ child, exited }: (typeof serving)[number]) => {
  process.kill(-(child.pid ?? 0), 'SIGINT');
  await exited;
};

const run = async (command: string, how: Run) => {
  if (how.kind === 'elsewhere') return 'run by another step';
  const { child, printed, exited } = start(command);
  const deadline = performance.now() + TIME_LIMIT;
  const isDone = () => hasExited(child) || (how.kind === 'serves' && how.ready.test(printed()));
  while (!isDone() && performance.now() < deadline) await setTimeout(50);
  if (how.kind === 'serves' && !hasExited(child) && isDone()) {
    serving.push({ child, exited });
    return 'serves';
  }
  if (!hasExited(child)) process.kill(-(child.pid ?? 0), 'SIGKILL');
  await exited;
  const asExpected = how.kind === 'exits' && child.exitCode === 0 && (how.expect?.test(printed()) ?? true);
  if (!asExpected)
    throw new Error(`\`${command}\` exited with ${child.exitCode} and printed something unexpected:\n${printed()}`);
  return 'passed';
};

let failed = 0;
try {
  for (const command of commands) {
    const key = Object.keys(runs).find(
      (known) => known === command || (/^(curl|printf|psql) |examples\/$/.test(known) && command.startsWith(known)),
    );
    if (key === undefined) throw new Error(`README.md has a command that .ci/readme.ts does not list: ${command}`);
    process.stdout.write(`${command.slice(0, 70)}: ${await run(command, runs[key] as Run)}\n`);
  }
} catch (error) {
  failed = 1;
  process.stdout.write(`${error}\n`);
}
for (const server of serving) if (!hasExited(server.child)) await stop(server);
process.exit(failed);
