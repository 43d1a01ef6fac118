import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { prepare, root } from './prepare.js';

// `npm run check`: all tools, also if one of them complains. Plain text unless a terminal shows it.

prepare();
const tools = [
  ['tsc'],
  // Nothing that Node.js added after the version that a package needs.
  ['tsc', '--project', 'tsconfig.package.json', '--noEmit'],
  ['biome', 'ci', '--error-on-warnings', ...(process.stdout.isTTY ? [] : ['--colors=off']), '.'],
  ['depcruise', 'src', 'test', 'bench', 'client', 'bin', 'docs', '.ci'],
];
const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
const env = { ...process.env, PATH };
const failed = tools.filter(
  ([program = '', ...words]) => spawnSync(program, words, { cwd: root, env, stdio: 'inherit' }).status !== 0,
);
if (failed.length > 0) {
  process.stderr.write(
    `Failed: ${failed.map(([program]) => program).join(', ')}. npm run fix repairs formats and imports.\n`,
  );
  process.exit(1);
}
