import type { RequestHandler } from 'express';

/**
 * What an answer says unless a route says otherwise: it is what its type says, and nobody may keep it. What else helmet
 * sets is for pages.
 */
export const DEFAULT_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' };

const defaults = Object.entries(DEFAULT_HEADERS);

export const setDefaultHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of defaults) response.setHeader(name, value);
  next();
};
