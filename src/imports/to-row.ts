import type { z } from 'zod';
import { StoreError } from '../errors.ts';
import { describeFields } from '../http/parse-request.ts';
import type { newPlantSchema } from '../plants/plant.ts';
import type { ImportRow, RowError } from './import.ts';

/** A NewPlant. The format determines how its id is written. */
type PlantSchema = z.ZodObject<Omit<typeof newPlantSchema.shape, 'id'> & { id: z.ZodType<bigint> }>;

/**
 * Validates one row.
 * @param subject the name of the row in messages
 * @param parse returns the value to validate; a StoreError that it throws becomes the row's error
 * @throws any other error of `parse`
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
  return { line, ...(id.success && { id: id.data }), ...describe(describeFields(result.error, subject, value)) };
};

/** @throws any error that is not a StoreError */
export const toRowError = (line: number, error: unknown): RowError => {
  if (error instanceof StoreError) return { line, ...describe(error) };
  throw error;
};

const describe = ({ code, message }: StoreError) => ({ error: code, message });
