import { afterAll, afterEach, expect } from '@jest/globals';
import { startWatching, takeProblems } from '../support/watch-answers.ts';

// Fails every test in which the service sends a response that is not in its API description.
const stopWatching = startWatching();
afterEach(() => expect(takeProblems()).toEqual([]));
afterAll(stopWatching);
