/** A plant with this id is stored already. Nothing was changed. */
export class PlantIdTakenError extends Error {
  override name = 'PlantIdTakenError';

  constructor(id: bigint) {
    super(`The id ${id} is taken.`);
  }
}

/** More plants wait to be stored than the store takes on. This one was not stored. */
export class OverloadedError extends Error {
  override name = 'OverloadedError';
}

/** The database was lost, or did not answer in time, while it stored the plant: it may be stored, or not. */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}
