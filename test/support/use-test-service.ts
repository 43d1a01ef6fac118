import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { startTestService, type TestService } from './test-service.ts';

/** Starts a service for the tests of a file or a describe block. Its members can be read once these run. */
export const useTestService = (...options: Parameters<typeof startTestService>): TestService => {
  const service = {} as TestService;
  beforeAll(async () => {
    Object.assign(service, await startTestService(...options));
  });
  afterAll(() => service.stop());
  return service;
};

/** @returns `startTestService`; what a test starts with it stops after that test */
export const useTestServices = (): typeof startTestService => {
  const started: TestService[] = [];
  afterEach(async () => {
    for (const service of started.splice(0).reverse()) await service.stop();
  });
  return async (...options) => {
    const service = await startTestService(...options);
    started.push(service);
    return service;
  };
};
