import { launch } from './launch.js';

// Jest needs a flag of Node.js to run ES modules (https://jestjs.io/docs/ecmascript-modules).
launch('node_modules/jest/bin/jest.js', process.argv.slice(2), [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
]);
