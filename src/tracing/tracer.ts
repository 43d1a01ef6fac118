import type { IncomingHttpHeaders } from 'node:http';

/** What is said of a span, in the words of OpenTelemetry's semantic conventions (https://opentelemetry.io/docs/specs/semconv). */
export type Attributes = Record<string, string | number | boolean | undefined>;

/** A piece of work as a trace shows it: what, when, how long, and within which other piece. */
export type Span = {
  /** 32 hexadecimal digits (W3C Trace Context §3.2.2.3). */
  readonly traceId: string;
  /** The header that makes the work of others part of this span (W3C Trace Context §3.2). */
  readonly traceparent: string;
  /** Whether it is sent to anybody. */
  readonly isSampled: boolean;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Names a span that has to do with this one, be it of another trace. */
  link(span: Span): void;
  /** `error`: what kind of failure it ended with. To be called once. */
  end(error?: string): void;
};

/** What the store knows of tracing. It is there only where somebody wants the traces. */
export type Tracer = {
  /** Begins what another has asked for, within the trace that its headers name (W3C Trace Context). */
  receive(name: string, headers: IncomingHttpHeaders, attributes: Attributes): Span;
  /**
   * Begins a step of the store's own, or what it asks of the database, within `parent` or else within the span that runs.
   * Undefined: there is none that is sampled, and nobody would see the step.
   */
  begin(name: string, attributes: Attributes, options?: { parent?: Span; ofDatabase?: boolean }): Span | undefined;
  /** Does work, and all that it leads to, within a span, or outside of any. */
  run<Result>(span: Span | undefined, work: () => Result): Result;
  /** Sends what was not sent yet, if that can be done in a moment. */
  stop(): Promise<void>;
};
