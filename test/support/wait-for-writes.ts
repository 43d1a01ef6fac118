import type { TestService } from './test-service.ts';
import { waitUntil } from './wait-until.ts';

const WRITES = { queue: 'writes' };

/**
 * Waits until the batches under way and the plants in the queue add up to `count`. A test that sends plants one at a time,
 * with this wait after each, fills every batch slot with one plant; the rest wait. The service needs METRICS_PORT.
 */
export const waitForWrites = ({ metrics }: TestService, count: number): Promise<void> =>
  waitUntil(`${count} plants under way or in the queue`, async () => {
    const { value } = await metrics();
    const underWay = value('plant_store_batches_under_way', WRITES) ?? 0;
    return underWay + (value('plant_store_queue_items', WRITES) ?? 0) >= count;
  });
