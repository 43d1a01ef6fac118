/** Plants on a page. */
export const PAGE_LIMIT = 100;

/** One GET and what it is to answer. */
export type Read = {
  /** With its query. */
  path: string;
  /** Of the plants in the answer, in their order, in decimal digits. */
  ids: string[];
};

/** The ids of a page, and the one before it. */
export type Page = { after: string; ids: string[] };

/** In the order of the text, by their digits: a double would round them. An id is a JSON number or a string of one. */
export const idsIn = (json: string): string[] => [...json.matchAll(/"id":"?(-?\d+)/g)].map(([, id]) => id as string);
