import { launch } from './launch.js';

await launch('bench/main.ts', process.argv.slice(2));
