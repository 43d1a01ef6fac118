import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root } from './prepare.js';

// `npm pack`: makes dist/ from src/, because Node.js strips no types under node_modules.

prepare();
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
const tsc = join(root, 'node_modules', '.bin', 'tsc');
const { status } = spawnSync(tsc, ['--project', 'tsconfig.package.json'], { cwd: root, stdio: ['ignore', 2, 2] });
if (status !== 0) process.exit(1);
cpSync(join(root, 'src', 'documentation', 'public'), join(dist, 'documentation', 'public'), { recursive: true });
