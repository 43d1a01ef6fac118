import { createRequire } from 'node:module';

// The types of the package are those of its CommonJS module, which `import` does not get.
/** @type {typeof import('@jest/test-sequencer')} */
const { default: TestSequencer } = createRequire(import.meta.url)('@jest/test-sequencer');

/** Files that are short to read and slow to run. */
const SLOW = ['test/service/model.test.ts'];

const isSlow = (/** @type {{ path: string }} */ { path }) => SLOW.some((end) => path.endsWith(end));

/**
 * Begins with the slow files, so that none is left when the other workers have finished. Jest begins with those that took
 * longest, but it does not know them in a fresh clone, and then goes by their sizes.
 */
export default class SlowFirst extends TestSequencer {
  /** @override */
  async sort(/** @type {Parameters<InstanceType<typeof TestSequencer>['sort']>[0]} */ tests) {
    const sorted = await super.sort(tests);
    return sorted.sort((one, other) => Number(isSlow(other)) - Number(isSlow(one)));
  }
}
