/** The smallest allocation, in bytes. */
const FIRST_CAPACITY = 4096;

/**
 * A buffer that grows up to `limit` bytes. It keeps a single part as it is, and copies several into one allocation, because
 * each small part takes 512 bytes of memory.
 */
export const createByteBuffer = (limit: number) => {
  let buffer: Buffer = Buffer.alloc(0);
  let length = 0;

  const grow = () => {
    const grown = Buffer.allocUnsafe(Math.min(limit, Math.max(FIRST_CAPACITY, 2 * length)));
    buffer.copy(grown);
    buffer = grown;
  };

  return {
    /** The number of bytes added. */
    size: (): number => length,
    /** Adds bytes, unless they exceed the limit. @returns whether they do not */
    add: (part: Buffer): boolean => {
      const start = length;
      if (start + part.length > limit) return false;
      length += part.length;
      if (start === 0) buffer = part;
      else {
        if (length > buffer.length) grow();
        part.copy(buffer, start);
      }
      return true;
    },
    bytes: (): Buffer => (length === buffer.length ? buffer : buffer.subarray(0, length)),
  };
};
