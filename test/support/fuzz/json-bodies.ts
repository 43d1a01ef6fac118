import fc from 'fast-check';

/** Bodies, from valid plants to bytes that are not text, generated from a seed. */

const [LEAST_INT64, GREATEST_INT64] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Any id, often one of a few, so that requests share plants. */
const int64 = fc.oneof(
  { weight: 3, arbitrary: fc.bigInt({ min: LEAST_INT64, max: GREATEST_INT64 }) },
  { weight: 1, arbitrary: fc.bigInt({ min: -9n, max: 9n }) },
);
export const idText: fc.Arbitrary<string> = int64.map(String);

/** Numbers at and beyond the limits of int64, double and the JSON grammar. */
const oddNumber = fc.oneof(
  fc.constantFrom('-0', '1.0', '1e3', '1E+2', '1.5', '1e400', '-1e-400', '1e999999999', '9223372036854775807.0'),
  fc.constantFrom('9223372036854775808', '-9223372036854775809', '01', '+1', '.5', '1.', 'NaN', '-Infinity', '0x10'),
  fc.constantFrom('9'.repeat(5000), `1${'0'.repeat(5000)}e-5000`, `0.${'0'.repeat(5000)}1`),
  fc.double().map(String),
);

const text = fc.string({ unit: 'binary', maxLength: 30 }).map((value) => JSON.stringify(value));

const oddText = fc.oneof(
  fc.constantFrom('"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\x41"', '"\t"', '"', "'Fir'", '"\\u00"', '""'),
  fc.integer({ min: 1, max: 20_000 }).map((length) => `"${'x'.repeat(length)}"`),
);

const nested = fc
  .tuple(fc.integer({ min: 1, max: 20_000 }), fc.constantFrom(['[', ']'], ['{"id":', '1}'], ['[', '']))
  .map(([depth, [opening = '', closing = '']]) => opening.repeat(depth) + closing.repeat(depth));

const value = fc.oneof(
  { weight: 4, arbitrary: fc.oneof(idText, text) },
  { weight: 2, arbitrary: fc.oneof(oddNumber, oddText) },
  { weight: 1, arbitrary: fc.oneof(fc.constantFrom('true', 'false', 'null', '{}', '[]', ''), nested) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
);

const memberName = fc.oneof(
  fc.constantFrom('"id"', '"name"', '"tag"', '"\\u0069d"', '"ID"', '"__proto__"', '"constructor"', '"toString"', '""'),
  text,
);

const space = fc.constantFrom('', ' ', '\n\t', '\r\n', '\u00a0', '\f');

/** A NewPlant. Its name contains its id, since responses do not. */
export const newPlant = fc
  .tuple(idText, fc.string({ unit: 'binary', maxLength: 12 }), fc.option(text, { nil: undefined }))
  .map(([id, name, tag]) => {
    const storable = JSON.stringify(`${name.replaceAll('\0', '').toWellFormed()} ${id}`);
    return `{"id":${id},"name":${storable}${tag === undefined ? '' : `,"tag":${tag}`}}`;
  });

/** A NewPlant with other members before and after, which may have the same names. */
const crowdedPlant = fc
  .tuple(newPlant, fc.array(fc.tuple(memberName, value), { maxLength: 4 }), fc.boolean())
  .map(([plant, members, before]) => {
    const others = members.map(([name, content]) => `${name}:${content}`).join(',');
    return others === '' ? plant : before ? `{${others},${plant.slice(1)}` : `${plant.slice(0, -1)},${others}}`;
  });

const anyObject = fc
  .tuple(fc.array(fc.tuple(memberName, value), { maxLength: 5 }), space)
  .map(([members, gap]) => `{${gap}${members.map(([name, content]) => `${name}${gap}:${content}`).join(`,${gap}`)}}`);

const spoiltText = fc
  .tuple(newPlant, fc.nat(), fc.constantFrom('', '\ufeff', '}', ',', '\0', 'x', '//', '{"id":1,"name":"a"}'))
  .map(([plant, place, insertion]) => {
    const index = place % (plant.length + 1);
    return insertion === '' ? plant.slice(0, index) : plant.slice(0, index) + insertion + plant.slice(index);
  });

/** A plant with invalid UTF-8, or in another encoding. */
const spoiltBytes = fc.oneof(
  fc
    .tuple(newPlant, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 }))
    .map(([plant, place, bytes]) => insertBytes(Buffer.from(plant), place, bytes)),
  newPlant.map((plant) => Buffer.from(plant, 'utf16le')),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

const insertBytes = (bytes: Buffer, place: number, insertion: Uint8Array) => {
  const index = place % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, index), insertion, bytes.subarray(index)]);
};

/** The bytes of a body; about half are valid plants. */
export const jsonBody: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 4, arbitrary: newPlant.map((plant) => Buffer.from(plant)) },
  { weight: 3, arbitrary: crowdedPlant.map((plant) => Buffer.from(plant)) },
  { weight: 2, arbitrary: fc.oneof(anyObject, value).map((content) => Buffer.from(content)) },
  { weight: 2, arbitrary: spoiltText.map((content) => Buffer.from(content)) },
  { weight: 1, arbitrary: spoiltBytes },
);
