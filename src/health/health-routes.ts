import { Router } from 'express';
import { handleOtherMethods } from '../http/handle-error.ts';
import { sendJson } from '../http/send-json.ts';

type HealthRoutesOptions = {
  /** @throws the reason why the service cannot handle requests */
  assertReady: () => Promise<void>;
};

/**
 * Health checks: `GET /livez` (the process responds) and `GET /readyz` (it can handle requests). No token is required.
 */
export const createHealthRoutes = ({ assertReady }: HealthRoutesOptions) => {
  const router = Router({ strict: true, caseSensitive: true });
  router
    .route('/livez')
    .get((_request, response) => sendJson(response, { status: 'live' }))
    .all(handleOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
  router
    .route('/readyz')
    .get(async (_request, response) => {
      await assertReady();
      sendJson(response, { status: 'ready' });
    })
    .all(handleOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
  return router;
};
