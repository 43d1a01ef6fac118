#!/usr/bin/env node
import { launch } from './launch.js';

// The command line in a checkout, which it prepares first. In the image, src/main.ts itself is the command.
await launch('src/main.ts', process.argv.slice(2));
