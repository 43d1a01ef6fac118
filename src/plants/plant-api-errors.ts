import { ApiError, defineErrors } from '../http/api-error.ts';
import { commonErrors } from '../http/common-errors.ts';
import { PlantChangedError, PlantIdTakenError, PlantUnknownError, SearchTimeoutError } from './plant-errors.ts';

/** The errors of operations on plants. */
export const plantErrorCodes = defineErrors({
  idTaken: {
    code: 1004,
    status: 400,
    when: 'the id is taken',
    advice:
      'Choose another id, or change the stored plant with PUT or PATCH. If an earlier request with this id got no response, read the plant: it may be yours.',
    example: 'The id 17 is taken.',
  },
  plantUnknown: {
    code: 1201,
    status: 404,
    title: 'No such plant',
    when: 'there is no such plant',
    advice: 'Check the id. Only POST /plants creates a plant; PUT and PATCH do not.',
    example: 'There is no plant with the id 17.',
  },
  searchTooSlow: {
    code: 1505,
    status: 503,
    isFault: false,
    when: 'the search took too long',
    advice:
      'Narrow the search with a tag. The operator can create an index that speeds up searches by name: plant-store search-index create. The database is healthy.',
    example:
      'The search took too long. Narrow it with a tag. The operator can speed up searches: plant-store search-index create.',
  },
});

/** @returns undefined for an error that is not about plants */
export const toPlantApiError = (error: unknown): ApiError | undefined => {
  if (error instanceof PlantIdTakenError) return new ApiError(plantErrorCodes.idTaken, error.message);
  if (error instanceof PlantUnknownError) return new ApiError(plantErrorCodes.plantUnknown, error.message);
  if (error instanceof PlantChangedError) return new ApiError(commonErrors.preconditionFailed, error.message);
  if (error instanceof SearchTimeoutError)
    return new ApiError(plantErrorCodes.searchTooSlow, undefined, { cause: error });
  return undefined;
};
