/** `npm run bench`. `node bench/main.ts --help` lists the options. */
import { BenchError, say } from './command.ts';
import { readOptions, usage } from './options.ts';
import { prepare } from './prepare.ts';

const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());
// When the reader of a pipe exits, as in `| head`, no database server may be left behind.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => interruption.abort());
interruption.signal.addEventListener('abort', () => say('Stopping the servers and removing temporary folders'));

const main = async (): Promise<number> => {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  await prepare(interruption.signal);
  // Imported late, because it needs the packages that `prepare` installs.
  const { runBenchmark } = await import('./benchmark.ts');
  const failures = await runBenchmark(options, interruption.signal);
  return failures === 0 ? 0 : EXIT_FAILED;
};

const explain = (error: unknown): number => {
  if (interruption.signal.aborted) return EXIT_INTERRUPTED;
  say(error instanceof BenchError ? error.message : String((error as Error).stack ?? error));
  return EXIT_FAILED;
};

process.exitCode = await main().catch(explain);
