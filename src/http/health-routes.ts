import { Router } from 'express';
import { rejectOtherMethods } from './reject-other-methods.ts';
import { sendJson } from './send-json.ts';

type HealthRoutesOptions = {
  /** @throws what stands in the way of serving requests */
  assertReady: () => Promise<void>;
};

/** For who watches the process: `GET /livez` (it answers) and `GET /readyz` (it can serve requests). No token. */
export const createHealthRoutes = ({ assertReady }: HealthRoutesOptions) => {
  const router = Router({ strict: true, caseSensitive: true });
  router
    .route('/livez')
    .get((_request, response) => sendJson(response, { status: 'live' }))
    .all(rejectOtherMethods('GET', 'HEAD'));
  router
    .route('/readyz')
    .get(async (_request, response) => {
      await assertReady();
      sendJson(response, { status: 'ready' });
    })
    .all(rejectOtherMethods('GET', 'HEAD'));
  return router;
};
