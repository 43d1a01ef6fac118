import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createOutputBudget } from './send-json.ts';

const createResponse = () => new ServerResponse(new IncomingMessage(new Socket()));

const close = async (response: ServerResponse) => {
  response.destroy();
  if (!response.closed) await once(response, 'close');
};

test('past the limit, the oldest responses are destroyed', async () => {
  const budget = createOutputBudget({ limit: 100 });
  const [first, second, third] = [createResponse(), createResponse(), createResponse()];
  budget.hold(first, 60);
  await close(first);
  budget.hold(second, 60);
  expect(second.destroyed).toBe(false);
  budget.hold(third, 60);
  expect([second.destroyed, third.destroyed]).toEqual([true, false]);
});

test('a response whose client was gone before does not count', async () => {
  const budget = createOutputBudget({ limit: 100 });
  const [waiting, gone, next] = [createResponse(), createResponse(), createResponse()];
  budget.hold(waiting, 40);
  await close(gone);
  budget.hold(gone, 40);
  budget.hold(next, 40);
  expect([waiting.destroyed, next.destroyed]).toEqual([false, false]);
});
