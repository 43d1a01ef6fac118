/** Prints the names of skipped tests, which include the reason (test/support/skip.ts). */
export default class ListSkipped {
  onRunComplete(/** @type {unknown} */ _contexts, /** @type {import('@jest/reporters').AggregatedResult} */ results) {
    const tests = results.testResults.flatMap(({ testResults }) => testResults);
    const skipped = tests.filter(({ status }) => status === 'pending');
    for (const { fullName } of skipped) process.stderr.write(`Skipped: ${fullName}\n`);
  }
}
