import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root, run } from './prepare.js';

// `npm pack`: makes dist/ from src/, because Node.js strips no types under node_modules.

prepare();
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
run(join(root, 'node_modules', '.bin', 'tsc'), ['--project', 'tsconfig.package.json'], 'tsc');
cpSync(join(root, 'src', 'documentation', 'public'), join(dist, 'documentation', 'public'), { recursive: true });
