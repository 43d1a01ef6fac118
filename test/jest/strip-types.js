import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

/** Transforms TypeScript as Node.js does, so that the tests run the same code as production. */
export default {
  process: (/** @type {string} */ source) => ({ code: stripTypeScriptTypes(source) }),
  /** Without `instrument` in the key, coverage would get the file without its counters. */
  getCacheKey: (
    /** @type {string} */ source,
    /** @type {string} */ path,
    /** @type {{ instrument: boolean }} */ { instrument },
  ) => createHash('sha256').update(`${process.version} ${path} ${instrument}\n${source}`).digest('hex'),
};
