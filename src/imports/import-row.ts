import type { z } from 'zod';
import { ApiError } from '../http/api-error.ts';
import { describeFields } from '../http/parse-request.ts';
import type { NewPlant, newPlantSchema } from '../plants/plant.ts';

/** Why a row is not stored. `error` is the code with which `POST /plants` would respond. */
export type RowError = {
  /** The line on which the row begins, or the element of a JSON array, from 1. */
  line: number;
  /** Present if it is valid. */
  id?: bigint;
  error: number;
  message: string;
};

/** A row of an import: a valid plant, or an error. */
export type ImportRow = { line: number; plant: NewPlant } | RowError;

/** A NewPlant. The format determines how its id is written. */
type PlantSchema = z.ZodObject<Omit<typeof newPlantSchema.shape, 'id'> & { id: z.ZodType<bigint> }>;

/**
 * Validates one row.
 * @param subject the name of the row in messages
 * @param parse returns the value to validate; an ApiError that it throws becomes the row's error
 */
export const toRow = (line: number, schema: PlantSchema, subject: string, parse: () => unknown): ImportRow => {
  let value: unknown;
  try {
    value = parse();
  } catch (error) {
    return toRowError(line, error);
  }
  const result = schema.safeParse(value);
  if (result.success) return { line, plant: result.data };
  const id = schema.shape.id.safeParse((value as { id?: unknown } | null)?.id);
  return { line, ...(id.success && { id: id.data }), ...describe(describeFields(result.error, subject)) };
};

/** @throws any error that is not an ApiError */
export const toRowError = (line: number, error: unknown): RowError => {
  if (error instanceof ApiError) return { line, ...describe(error) };
  throw error;
};

const describe = ({ code, message }: ApiError) => ({ error: code, message });
