import { Router } from 'express';
import { answerOtherMethods } from './answer-other-methods.ts';
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
    .all(answerOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
  router
    .route('/readyz')
    .get(async (_request, response) => {
      await assertReady();
      sendJson(response, { status: 'ready' });
    })
    .all(answerOtherMethods({ Allow: 'GET, HEAD, OPTIONS' }));
  return router;
};
