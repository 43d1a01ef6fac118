import { launch } from './launch.js';

await launch('bench/run.ts', process.argv.slice(2));
