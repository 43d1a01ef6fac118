import { hash } from 'node:crypto';
import type { StoredPlant } from './plant.ts';
import type { PlantPage } from './plant-pages.ts';

/** The JSON of a plant. The id keeps all its digits. */
export const representPlant = ({ id, name, tag }: StoredPlant): string => representFields(String(id), name, tag);

/** The JSON of a page: an array of StoredPlants. */
export const representPage = ({ ids, names, tags }: PlantPage): string =>
  `[${ids.map((id, index) => representFields(id, names[index] as string, tags[index]))}]`;

/** The JSON of a plant. `id`: decimal digits. Concatenated, because `JSON.rawJSON` takes four times as long. */
export const representFields = (id: string, name: string, tag: string | null | undefined): string => {
  const rest = typeof tag === 'string' ? `,"tag":${JSON.stringify(tag)}}` : '}';
  return `{"id":${id},"name":${JSON.stringify(name)}${rest}`;
};

/**
 * The strong entity tag of a plant (RFC 9110 §8.8.3): the SHA-256 of its name and, if it has one, of U+0000, which no text
 * contains, and its tag. PostgreSQL computes the same (docs/decisions/0022).
 */
export const entityTag = ({ name, tag }: Omit<StoredPlant, 'id'>): string =>
  `"${hash('sha256', tag === undefined ? name : `${name}\0${tag}`, 'base64url')}"`;
