import { afterAll, afterEach, expect } from '@jest/globals';
import { startWatching, takeProblems } from '../support/watch-answers.ts';

// In each test file: whatever test makes the store send what its description does not have fails.
const stopWatching = startWatching();
afterEach(() => expect(takeProblems()).toEqual([]));
afterAll(stopWatching);
