import { hash } from 'node:crypto';
import type { StoredPlant } from './plant.ts';

declare global {
  interface JSON {
    /** ECMAScript's (https://tc39.es/proposal-json-parse-with-source); TypeScript does not have it yet. */
    rawJSON(text: string): object;
  }
}

/** A plant as it is read, in JSON: its id an integer, exact to the last digit. */
export const representPlant = ({ id, name, tag }: StoredPlant): string =>
  JSON.stringify({ id: JSON.rawJSON(String(id)), name, tag });

/** The strong entity tag of a representation (RFC 9110 §8.8.3): another one whenever anything in it is different. */
export const entityTag = (representation: string): string => `"${hash('sha256', representation, 'base64url')}"`;
