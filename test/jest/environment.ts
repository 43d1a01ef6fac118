import { setTimeout } from 'node:timers/promises';
import { TestEnvironment } from 'jest-environment-node';
import type { WatchedService } from '../support/watched-services.ts';
import { createConnectionWatch } from './connection-watch.ts';
import { createTimerWatch } from './timer-watch.ts';

/** How long a test may take to become idle after its end, in ms: a client's end is noticed within a second or two. */
const PATIENCE = 4000;
const POLL_INTERVAL = 20;

/** Warnings of Node.js and of packages that say nothing about something left behind. */
const NOTICES = ['ExperimentalWarning', 'Warning'];

/** The part of jest-circus' events that is used here. */
type TestEvent = { name: string; test?: { mode?: string | null | undefined; errors: unknown[] } };

/**
 * Fails each test that leaves something behind, by its name: what requests hold in a service, timers that src/ or a test set,
 * connections that they opened, servers that listen, listeners of the process, and warnings of Node.js, for example of too many
 * listeners.
 */
export default class IdleEnvironment extends TestEnvironment {
  readonly #timers;
  readonly #connections = createConnectionWatch();
  readonly #services = new Set<WatchedService>();
  readonly #warnings: string[] = [];
  readonly #onWarning = (warning: Error) => {
    if (!NOTICES.includes(warning.name)) this.#warnings.push(`${warning.name}: ${warning.message}`);
  };
  #before = new Map<string, number>();

  constructor(...settings: ConstructorParameters<typeof TestEnvironment>) {
    super(...settings);
    this.#timers = createTimerWatch(this.global as unknown as typeof globalThis);
    Object.assign(this.global, { watchedServices: this.#services });
  }

  override async setup(): Promise<void> {
    await super.setup();
    process.on('warning', this.#onWarning);
  }

  override async teardown(): Promise<void> {
    process.off('warning', this.#onWarning);
    this.#connections.stop();
    await super.teardown();
  }

  async handleTestEvent(event: TestEvent): Promise<void> {
    if (event.name === 'test_start') this.#before = this.#count();
    if (event.name !== 'test_done' || event.test === undefined) return;
    const deadline = performance.now() + PATIENCE;
    while (this.#left().length > 0 && performance.now() < deadline) await setTimeout(POLL_INTERVAL);
    const left = [...this.#left(), ...this.#warnings.splice(0)];
    if (left.length > 0) event.test.errors.push(new Error(`The test left something behind:\n${left.join('\n')}`));
  }

  /** What is held at this moment, by name. */
  #count(): Map<string, number> {
    const counts = new Map<string, number>();
    const add = (name: string, count: number) => counts.set(name, (counts.get(name) ?? 0) + count);
    for (const place of [...this.#timers.places(), ...this.#connections.places()]) add(place, 1);
    add('servers that listen', process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length);
    for (const { inUse } of this.#services)
      for (const [name, count] of Object.entries(inUse())) add(`in use: ${name}`, count);
    // Jest gives the tests a process object of their own.
    const ofTests = this.global.process as NodeJS.Process;
    for (const name of ofTests.eventNames())
      add(`listener of the process: ${String(name)}`, ofTests.listenerCount(name));
    return counts;
  }

  #left(): string[] {
    return [...this.#count()].flatMap(([name, count]) => {
      const before = this.#before.get(name) ?? 0;
      return count > before ? [`${name}: ${count}, before the test ${before}`] : [];
    });
  }
}
