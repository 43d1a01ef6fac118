import { afterAll, beforeAll } from '@jest/globals';
import { checkModel, SEED, startModelStore } from '../support/model/check-model.ts';
import { onCitus, unless } from '../support/skip.ts';

const { describe, test } = unless(onCitus('keys are refused'));

/** How long to send sequences. */
const SECONDS = Number(process.env.MODEL_SECONDS || 10);
/** The maximum number of operations in a sequence. */
const LENGTH = 120;
/** Sequences with one seed: a failure shrinks within them. */
const BATCH = 20;

describe('two instances of the store on one database', () => {
  let model: Awaited<ReturnType<typeof startModelStore>>;
  beforeAll(async () => {
    model = await startModelStore();
  });
  afterAll(() => model.stop());

  test(
    `for ${SECONDS} s respond and store as the model says, whatever is sent in which order`,
    async () => {
      const end = Date.now() + SECONDS * 1000;
      let sequences = 0;
      for (let seed = SEED; Date.now() < end && (seed === SEED || !process.env.MODEL_PATH); seed++) {
        await checkModel(model, { runs: BATCH, length: LENGTH, seed });
        sequences += BATCH;
      }
      const outcomes = Object.entries(model.counts).sort(([, a], [, b]) => b - a);
      const lines = outcomes.map(([outcome, count]) => `${count} × ${outcome}`);
      process.stderr.write(
        `\n${sequences} sequences from seed ${SEED}; ${model.repeated()} requests were repeated\n${lines.join(', ')}\n`,
      );
    },
    (SECONDS + 240) * 1000,
  );
});
