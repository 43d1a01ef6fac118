import type { z } from 'zod';
import { StoreError } from '../errors.ts';
import { parseBody } from '../http/parse-request.ts';
import type { newPlantSchema } from '../plants/plant.ts';
import type { ImportRow } from './import.ts';

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
    return { line, plant: parseBody(schema, value, subject) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const id = schema.shape.id.safeParse((value as { id?: unknown } | null | undefined)?.id);
    return { line, ...(id.success && { id: id.data }), error: error.code, message: error.message };
  }
};
