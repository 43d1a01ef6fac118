#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { launch, launchInstalled } from './launch.js';
import { root } from './prepare.js';

// The command line in a checkout, which it prepares first, or in an installed package. In the image, src/main.ts itself is the command.
const options = process.argv.slice(2);
if (existsSync(join(root, 'src'))) launch('src/main.ts', options);
else launchInstalled('dist/main.js', options);
