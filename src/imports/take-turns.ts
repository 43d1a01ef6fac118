import { setImmediate } from 'node:timers/promises';

/** How long to work before other requests get a turn, in ms. */
const TURN = 1;
/** How many turns others get after each: a single request needs several. They cost nothing while there are none. */
const TURNS_OF_OTHERS = 3;

/**
 * Divides long work into turns, so that it does not block the event loop. By time, because the cost of a byte varies: short
 * rows that fail cost a hundred times as much as long ones.
 * @param valuesOf is called with each piece, and without one at the end. It works while its result is iterated; undefined
 *   stands for work without a value
 * @returns the values of each turn. Those before an error come first.
 */
export async function* inTurns<Piece, Value>(
  pieces: AsyncIterable<Piece> | Iterable<Piece>,
  valuesOf: (piece?: Piece) => Iterable<Value | undefined>,
): AsyncGenerator<Value[]> {
  let values: Value[] = [];
  let endsAt = performance.now() + TURN;
  const nextTurn = async () => {
    for (let turn = 0; turn < TURNS_OF_OTHERS; turn++) await setImmediate();
    endsAt = performance.now() + TURN;
  };
  for await (const piece of withEnd(pieces)) {
    try {
      for (const value of valuesOf(piece)) {
        if (value !== undefined) values.push(value);
        if (performance.now() < endsAt) continue;
        yield values;
        values = [];
        await nextTurn();
      }
    } catch (error) {
      yield values;
      throw error;
    }
    // The next piece may take long to arrive.
    yield values;
    values = [];
    // Or many have arrived that have no values, such as those of a long line.
    if (performance.now() >= endsAt) await nextTurn();
  }
}

async function* withEnd<Piece>(pieces: AsyncIterable<Piece> | Iterable<Piece>): AsyncGenerator<Piece | undefined> {
  yield* pieces;
  yield undefined;
}
