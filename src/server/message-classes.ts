import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/**
 * Classes for createServer whose instances have the prototypes that Express gives each request and response. Express
 * would otherwise change them per request, which takes 3 % of the CPU time (record 0034).
 */
export const createMessageClasses = (app: Express) => {
  class Request extends IncomingMessage {}
  class Response extends ServerResponse {}
  Object.setPrototypeOf(Request.prototype, app.request);
  Object.setPrototypeOf(Response.prototype, app.response);
  app.request = Request.prototype as typeof app.request;
  app.response = Response.prototype as typeof app.response;
  return { IncomingMessage: Request, ServerResponse: Response };
};

export type MessageClasses = ReturnType<typeof createMessageClasses>;
