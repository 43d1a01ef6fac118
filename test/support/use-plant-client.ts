import { beforeEach } from '@jest/globals';
import { createPlantClient } from '../../client/plant-client.ts';
import type { TestService } from './test-service.ts';
import { useTestService } from './use-test-service.ts';

/** A service with a base path for the tests of a file, each of which begins without plants, and its typed client. */
export const usePlantClient = () => {
  const service = useTestService({ BASE_PATH: '/api/v1' });
  beforeEach(async () => {
    service.log.splice(0);
    await service.database.query('TRUNCATE plants');
  });
  return {
    service,
    /** Of any service with this base path. */
    clientOf: ({ baseUrl, token }: TestService, options: Partial<Parameters<typeof createPlantClient>[0]> = {}) =>
      createPlantClient({ baseUrl: `${baseUrl}/api/v1`, token, ...options }),
  };
};
