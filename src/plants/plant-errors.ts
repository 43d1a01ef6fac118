/** A plant with this id is stored already. Nothing was changed. */
export class PlantIdTakenError extends Error {
  override name = 'PlantIdTakenError';

  constructor(id: bigint) {
    super(`The id ${id} is taken.`);
  }
}

/** More requests wait for the database than the store takes on. This one was not sent to it. */
export class OverloadedError extends Error {
  override name = 'OverloadedError';
}

/** The database was lost, or did not answer in time, while it worked on the request, which may have taken effect, or not. */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}

/** A search took longer than it may. It is that search that is slow, and not the database that is away. */
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

/** The plant is not as the client believes it to be: someone else was first. Nothing was changed. */
export class PlantChangedError extends Error {
  override name = 'PlantChangedError';

  constructor(id: bigint) {
    super(`The plant with the id ${id} is not as the request's preconditions demand.`);
  }
}
