export type SentSpan = {
  traceId: string;
  spanId: string;
  /** Empty if there is none. */
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  /** In ns. */
  start: bigint;
  end: bigint;
  attributes: Record<string, unknown>;
  /** The ids of linked spans. */
  links: string[];
  /** 2: error. */
  status: number;
  /** Describes the process that sent it. */
  resource: Record<string, unknown>;
};

/**
 * Parses an ExportTraceServiceRequest. The numbers are the fields in OpenTelemetry's trace.proto, common.proto and
 * resource.proto (https://github.com/open-telemetry/opentelemetry-proto).
 */
export const readTraces = (bytes: Buffer): SentSpan[] =>
  readMessage(bytes)
    .messages(1)
    .flatMap((resourceSpans) => {
      const resource = readAttributes(resourceSpans.message(1)?.messages(1) ?? []);
      const spans = resourceSpans.messages(2).flatMap((scopeSpans) => scopeSpans.messages(2));
      return spans.map((span) => ({
        traceId: span.bytes(1).toString('hex'),
        spanId: span.bytes(2).toString('hex'),
        parentSpanId: span.bytes(4).toString('hex'),
        name: span.bytes(5).toString(),
        kind: Number(span.number(6)),
        start: span.number(7),
        end: span.number(8),
        attributes: readAttributes(span.messages(9)),
        links: span.messages(13).map((link) => link.bytes(2).toString('hex')),
        status: Number(span.message(15)?.number(3) ?? 0),
        resource,
      }));
    });

const readAttributes = (pairs: Message[]): Record<string, unknown> =>
  Object.fromEntries(pairs.map((pair) => [pair.bytes(1).toString(), readValue(pair.message(2))]));

const readValue = (value: Message | undefined) => {
  if (value?.has(1)) return value.bytes(1).toString();
  if (value?.has(2)) return value.number(2) === 1n;
  if (value?.has(3)) return Number(value.number(3));
  return undefined;
};

type Message = ReturnType<typeof readMessage>;

/** Protocol Buffers' wire format (https://protobuf.dev/programming-guides/encoding). */
const readMessage = (buffer: Buffer) => {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const readVarint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const skip = (length: number) => {
    at += length;
    return at - length;
  };
  while (at < buffer.length) {
    const tag = Number(readVarint());
    const read: Record<number, () => Buffer | bigint> = {
      0: readVarint,
      1: () => buffer.readBigUInt64LE(skip(8)),
      2: () => {
        const length = Number(readVarint());
        const start = skip(length);
        return buffer.subarray(start, start + length);
      },
      5: () => BigInt(buffer.readUInt32LE(skip(4))),
    };
    const value = read[tag & 7]?.();
    if (value === undefined) throw new Error(`no wire type: ${tag & 7}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  const messages = (field: number) => (fields.get(field) ?? []).map((value): Message => readMessage(value as Buffer));
  return {
    has: (field: number) => fields.has(field),
    messages,
    message: (field: number) => messages(field)[0],
    bytes: (field: number) => (fields.get(field)?.[0] ?? Buffer.alloc(0)) as Buffer,
    number: (field: number) => (fields.get(field)?.[0] ?? 0n) as bigint,
  };
};
