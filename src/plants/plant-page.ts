import { representFields } from './plant-representation.ts';

/** Plants in the order of their ids, column by column, as PostgreSQL answers them; null where there are none. */
export type PlantColumns = {
  /** In decimal digits, with a comma between them. */
  ids: string | null;
  /** A JSON array of strings, and of null where a plant is too long for the page. */
  names: string | null;
  /** A JSON array of strings and nulls. */
  tags: string | null;
};

/** Plants in the order of their ids. */
export type PlantPage = {
  /** A JSON array of StoredPlants. */
  json: string;
  /** Null where there are none. */
  lastId: bigint | null;
  /** Whether there are more behind them. */
  hasNext: boolean;
  /** Whether there are fewer than asked for, as the next is too long. */
  isCut: boolean;
};

/** A page of at most `limit` plants, of the columns of one more where others follow. */
export const toPlantPage = (columns: PlantColumns, limit: number): PlantPage => {
  const ids = columns.ids?.split(',') ?? [];
  const names: (string | null)[] = JSON.parse(columns.names ?? '[]');
  const tags: (string | null)[] = JSON.parse(columns.tags ?? '[]');
  const wanted = Math.min(limit, ids.length);
  let json = '';
  let count = 0;
  for (; count < wanted; count++) {
    const name = names[count];
    if (typeof name !== 'string') break;
    json += (count > 0 ? ',' : '') + representFields(ids[count] as string, name, tags[count]);
  }
  const lastId = ids[count - 1];
  return {
    json: `[${json}]`,
    lastId: lastId === undefined ? null : BigInt(lastId),
    hasNext: count < ids.length,
    isCut: count < wanted,
  };
};
