import { afterAll, beforeAll, expect } from '@jest/globals';
import { checkModel, SEED, startModelStore } from '../support/model/check-model.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { onCitus, unless } from '../support/skip.ts';

const { describe, test } = unless(onCitus('keys are refused'));

const RUNS = propertyRuns(240);
/** The maximum number of operations in a sequence. */
const LENGTH = 30;
/** Outcomes that so many sequences cannot miss. */
const EXPECTED = [
  ...['replayed', 'left', 'several at once'],
  ...['create 200', 'create 400 1004', 'create 401 1101', 'create 422 1301', 'read 200', 'read 404 1201', 'list 200'],
  ...['replace 200', 'replace 412 1204', 'patch 200', 'remove 204', 'remove 404 1201', 'import 200', 'export 200'],
];

describe('two instances of the store on one database', () => {
  let model: Awaited<ReturnType<typeof startModelStore>>;
  beforeAll(async () => {
    model = await startModelStore();
  });
  afterAll(() => model.stop());

  test('respond and store as the model says, whatever is sent in which order', async () => {
    await checkModel(model, { runs: RUNS, length: LENGTH, seed: SEED });
    if (!process.env.MODEL_PATH) expect(Object.keys(model.counts)).toEqual(expect.arrayContaining(EXPECTED));
    // The store was seldom too busy.
    expect(model.repeated()).toBeLessThan(model.counts['create 200'] ?? 1);
  }, 600_000);
});
