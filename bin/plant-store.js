#!/usr/bin/env node
import { launch } from './launch.js';

// The command line in a checkout: makes it ready to run first. In the image, src/main.ts is the command itself.
await launch('src/main.ts', process.argv.slice(2));
