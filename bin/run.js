import { launch } from './launch.js';

// Runs the script that its first argument names, with the other arguments.
const [script = '', ...options] = process.argv.slice(2);
launch(script, options);
