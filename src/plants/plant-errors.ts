/** A plant with this id already exists. Nothing was changed. */
export class PlantIdTakenError extends Error {
  override name = 'PlantIdTakenError';

  constructor(id: bigint) {
    super(`The id ${id} is taken.`);
  }
}

/** A search exceeded its time limit. The search is slow; the database is reachable. */
export class SearchTimeoutError extends Error {
  override name = 'SearchTimeoutError';
}

/** No plant with this id is stored. */
export class PlantUnknownError extends Error {
  override name = 'PlantUnknownError';

  constructor(id: bigint) {
    super(`There is no plant with the id ${id}.`);
  }
}

/** The plant does not meet the preconditions of the request. Nothing was changed. */
export class PlantChangedError extends Error {
  override name = 'PlantChangedError';

  constructor(id: bigint) {
    super(`The plant with the id ${id} does not meet the preconditions of the request.`);
  }
}

/** The plant was found locked while its write was waiting to be sent. The code is PostgreSQL's for `lock_timeout`. */
export class PlantLockedError extends Error {
  override name = 'PlantLockedError';
  readonly code = '55P03';
}
