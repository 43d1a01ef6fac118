import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

/** Jest's transform: what Node.js itself does to run TypeScript, so that the tests run what production runs. */
export default {
  process: (/** @type {string} */ source) => ({ code: stripTypeScriptTypes(source) }),
  /** `instrument` is in the key, or coverage would be served the file without its counters. */
  getCacheKey: (
    /** @type {string} */ source,
    /** @type {string} */ path,
    /** @type {{ instrument: boolean }} */ { instrument },
  ) => createHash('sha256').update(`${process.version} ${path} ${instrument}\n${source}`).digest('hex'),
};
