import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** What a server makes its requests and responses of. */
export type MessageClasses = { IncomingMessage: typeof IncomingMessage; ServerResponse: typeof ServerResponse };

/**
 * Classes whose requests and responses are the app's own from the start. Express sets the prototype of those that are not,
 * each time, after which V8 takes them for another kind of object: 2 µs of CPU a request.
 */
export const messageClassesOf = ({ request, response }: Express): MessageClasses => ({
  IncomingMessage: withPrototype(IncomingMessage, request),
  ServerResponse: withPrototype(ServerResponse, response),
});

const withPrototype = <Class extends typeof IncomingMessage | typeof ServerResponse>(
  base: Class,
  prototype: object,
) => {
  function Message(...args: unknown[]): object {
    return Reflect.construct(base, args, Message);
  }
  Message.prototype = prototype;
  return Message as unknown as Class;
};
