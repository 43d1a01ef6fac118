import { parseExactJson, stringifyExactJson } from './exact-json.ts';
import type { components, operations } from './openapi-types.ts';
import { notPlantStore, type Problem, problemIn, readJson } from './problem.ts';

type NewPlant = components['schemas']['NewPlant'];
type StoredPlant = components['schemas']['StoredPlant'];
export type ImportSummary = components['schemas']['ImportSummary'];
/** `signal` ends the call, which then throws its reason. */
type Ending = { signal?: AbortSignal };
export type ImportOptions = NonNullable<operations['importPlants']['parameters']['query']> & Ending;
export type ExportOptions = Omit<NonNullable<operations['exportPlants']['parameters']['query']>, 'format'> & Ending;

/** `data`: the result of the import. If `response.ok` is false, too many rows failed, and nothing is stored. */
export type ImportResult = { response: Response } & (
  | { data: ImportSummary; error?: never }
  | { data?: never; error: Problem }
);

type BulkOptions = { baseUrl: string; headers: Record<string, string>; fetch: (request: Request) => Promise<Response> };

/** The approximate size of the pieces to send, in characters. */
const PIECE = 65_536;

/** Imports and exports any number of plants, as NDJSON, in bounded memory. */
export const createBulk = ({ baseUrl, headers, fetch }: BulkOptions) => {
  const urlOf = (path: string, query: object) =>
    `${baseUrl.replace(/\/$/, '')}${path}?${Object.entries(query)
      .filter(([, value]) => value !== undefined)
      // Throws for half of a surrogate pair, which URLSearchParams would replace.
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&')}`;
  return {
    /** Sends plants while iterating over them. @throws errors of the iterable; an error if there is no response, or not from the service */
    importPlants: async (
      plants: Iterable<NewPlant> | AsyncIterable<NewPlant>,
      { signal, ...query }: ImportOptions = {},
    ): Promise<ImportResult> => {
      const url = urlOf('/plants/import', query);
      let failure: { error: unknown } | undefined;
      const pieces = linesOf(plants);
      const body = toStream(pieces, (error) => {
        failure = { error };
      });
      const headersOfRows = { ...headers, 'Content-Type': 'application/x-ndjson' };
      const init = {
        method: 'POST',
        headers: headersOfRows,
        body,
        duplex: 'half',
        redirect: 'manual',
        signal,
      } as RequestInit;
      const response = await fetch(new Request(url, init)).catch((error) => {
        // Neither `fetch` nor its stream closes the iterable. Not awaited, because that may take long.
        pieces.return().catch(() => {});
        throw failure ? failure.error : error;
      });
      const { value } = await readJson(response);
      if ('created' in value) return { data: value as ImportSummary, response };
      return { error: problemIn(value, response), response };
    },

    /**
     * Reads all plants, or those that match, as of a single point in time.
     * @throws {Error} the response is an error, with its problem details as the `cause`, or not from the service; or the export is
     * incomplete
     */
    exportPlants: async function* (options: ExportOptions = {}): AsyncGenerator<StoredPlant, void, undefined> {
      const { signal, ...query } = options;
      const init: RequestInit = { headers, redirect: 'manual', signal: signal ?? null };
      const response = await fetch(new Request(urlOf('/plants/export', query), init));
      if (!response.ok) {
        const { value } = await readJson(response);
        const problem = problemIn(value, response);
        throw new Error(problem.detail, { cause: problem });
      }
      if (!response.headers.get('Content-Type')?.startsWith('application/x-ndjson')) {
        await response.body?.cancel();
        throw notPlantStore(response);
      }
      for await (const line of readLines(response, signal)) yield parseExactJson(line) as StoredPlant;
    },
  };
};

async function* linesOf(plants: Iterable<NewPlant> | AsyncIterable<NewPlant>): AsyncGenerator<string, void, undefined> {
  let piece = '';
  for await (const plant of plants) {
    piece += `${stringifyExactJson(plant)}\n`;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** Lets other events have their turn. Not by a timer, which browsers slow down in a tab that nobody sees. */
const nextTurn = () =>
  new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

/** Used because some browsers lack `ReadableStream.from`. @param onError gets an error of `pieces`, which `fetch` may wrap */
const toStream = (
  pieces: AsyncGenerator<string, void, undefined>,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      // While an iterable that never waits is sent, nothing else would run: no response would be noticed, and no abort.
      await nextTurn();
      const { value, done } = await pieces.next().catch((error) => {
        onError(error);
        throw error;
      });
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => {
      await pieces.return();
    },
  });
};

/** @throws {Error} the last line is incomplete, or the connection was lost */
async function* readLines({ body }: Response, signal?: AbortSignal): AsyncGenerator<string, void, undefined> {
  if (body === null) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read().catch((cause) => {
        signal?.throwIfAborted();
        throw new Error('The export is incomplete.', { cause });
      });
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') throw new Error('The export is incomplete.');
  } finally {
    // If the caller stops early, cancels the rest of the response.
    await reader.cancel().catch(() => {});
  }
}
