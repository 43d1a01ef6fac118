import { StoreError } from '../store-error.ts';

export const idTaken = (id: bigint): Error => new StoreError('idTaken', `The id ${id} is taken.`);

export const plantUnknown = (id: bigint): Error =>
  new StoreError('plantUnknown', `There is no plant with the id ${id}.`);

/** The plant does not meet the preconditions of the request. Nothing was changed. */
export const preconditionFailed = (id: bigint): Error =>
  new StoreError('preconditionFailed', `The plant with the id ${id} does not meet the preconditions of the request.`);
