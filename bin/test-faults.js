import { launch } from './launch.js';

await launch('test/faults/run.ts', process.argv.slice(2));
