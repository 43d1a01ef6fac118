import { launch } from './launch.js';

await launch('docs/generate/main.ts', process.argv.slice(2));
