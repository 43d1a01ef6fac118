import { Prisma } from '../generated/prisma/client.ts';
import type { PlantChange, PlantFilter } from './plant.ts';
import { matching } from './plant-pages.ts';

/** The plants that match; with a `limit` only so many, the first in the order of ids. `change`: by default they are deleted. */
export type ManyRequest = { filter: PlantFilter; limit?: number | undefined; change?: PlantChange | undefined };

/**
 * Changes or deletes plants. Locks them in the order of ids, as all statements that write several, so that they do not deadlock; and
 * looks again at one that it had to wait for. Citus cannot lock rows of several shards first, so there the last of the first ids is
 * found, not all of them: a worker with old statistics would read a list of them once for each of its plants.
 */
export const changeStatement = (request: ManyRequest, isDistributed: boolean): Prisma.Sql => {
  const { change, limit } = request;
  const verb = change ? Prisma.sql`UPDATE plants SET ${setTo(change)}` : Prisma.sql`DELETE FROM plants`;
  const chosen = selectMany(request, Prisma.sql`ORDER BY id`);
  if (!isDistributed)
    return Prisma.sql`WITH chosen AS (${chosen} FOR UPDATE) ${verb} WHERE id IN (SELECT id FROM chosen)`;
  const isFirst = limit ? Prisma.sql`id <= (SELECT max(id) FROM (${chosen}) AS chosen)` : Prisma.sql`TRUE`;
  return Prisma.sql`${verb} WHERE ${isChanged(request)} AND ${isFirst}`;
};

/** Finds the plants that `changeStatement` would change. */
export const selectMany = (request: ManyRequest, order = Prisma.empty): Prisma.Sql => {
  const limit = request.limit ? Prisma.sql`LIMIT ${request.limit}` : Prisma.empty;
  return Prisma.sql`SELECT id FROM plants WHERE ${isChanged(request)} ${order} ${limit}`;
};

/** Whether a plant matches, and would not stay as it is. */
const isChanged = ({ filter, change }: ManyRequest): Prisma.Sql =>
  change
    ? Prisma.sql`${matching(filter)} AND (name, tag) IS DISTINCT FROM (${contentAfter(change)})`
    : matching(filter);

const contentAfter = ({ name, tag }: PlantChange) =>
  Prisma.sql`coalesce(${name}::text, name), CASE WHEN ${tag === undefined} THEN tag ELSE ${tag}::text END`;

export const setTo = (change: PlantChange): Prisma.Sql => Prisma.sql`(name, tag) = (${contentAfter(change)})`;
