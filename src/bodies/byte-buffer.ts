const NO_BYTES = Buffer.alloc(0);
/** The smallest allocation, in bytes. */
const FIRST_CAPACITY = 4096;

/**
 * A buffer that grows up to `limit` bytes. It keeps a single part as it is, and copies several into one allocation, because
 * each small part takes 512 bytes of memory.
 */
export const createByteBuffer = (limit: number) => {
  let buffer: Buffer = NO_BYTES;
  let length = 0;

  const grow = () => {
    const grown = Buffer.allocUnsafe(Math.min(limit, Math.max(FIRST_CAPACITY, 2 * length)));
    buffer.copy(grown);
    buffer = grown;
  };

  return {
    /** The number of bytes added, including those over the limit. */
    size: (): number => length,
    /** Adds bytes, or drops all if they exceed the limit. @returns whether they do not */
    add: (part: Buffer): boolean => {
      const start = length;
      length += part.length;
      if (length > limit) buffer = NO_BYTES;
      else if (start === 0) buffer = part;
      else {
        if (length > buffer.length) grow();
        part.copy(buffer, start);
      }
      return length <= limit;
    },
    /** Removes all bytes. @returns them; undefined if they exceeded the limit */
    take: (): Buffer | undefined => {
      const bytes = length === buffer.length ? buffer : buffer.subarray(0, length);
      const isWithin = length <= limit;
      buffer = NO_BYTES;
      length = 0;
      return isWithin ? bytes : undefined;
    },
  };
};
