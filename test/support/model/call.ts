import type { Answer } from './http-client.ts';
import type { HttpRequest, Plant, PlantRequest } from './requests.ts';
import type { TokenName, Verdict } from './tokens.ts';

/** A response that the model expects. What is undefined is not compared. */
export type Expected = {
  status: number;
  error?: number;
  text?: string;
  /** The version whose entity tag is in `ETag`. */
  etag?: string;
  needsEtag?: boolean;
  headers?: Record<string, string>;
  /** Whether another page follows. */
  hasNext?: boolean;
  isReplayed?: boolean;
  /** The response must be the same as that to this request, byte by byte. */
  first?: Call;
  /** Finds a difference in the body. */
  check?: (text: string) => string | undefined;
};

type Kept = { fingerprint: string; expected: Expected; first: Call };

/** What the store contains. Never changed in place. */
export type State = {
  plants: ReadonlyMap<string, Plant>;
  /** The answers, by token and key. */
  kept: ReadonlyMap<string, Kept>;
  /** Requests whose clients have left, and which may still be carried out. */
  left: readonly Call[];
};

/** A request that is sent to an instance. */
export type Call = {
  instance: 0 | 1;
  token: TokenName;
  request: PlantRequest;
  http: HttpRequest;
  precondition: { header: string; isMet: (version: string) => boolean } | undefined;
  /** The token and the key. */
  keyName: string;
  /** What the request means; undefined without a key that counts. */
  fingerprint: string | undefined;
  verdict: Verdict;
  /** Undefined: the client left, and the request may have been carried out. */
  answer?: Answer;
};

/** What the store may respond, and its state then. */
export type Outcome = { expected: Expected; next: State };
