/** The finalizer of splitmix64, as in wrk-script.lua, a bijection on 64-bit numbers: unique numbers become unique ids. */
export const randomId = (n: bigint): bigint => {
  const a = BigInt.asUintN(64, (n ^ (n >> 30n)) * 0xbf58476d1ce4e5b9n);
  const b = BigInt.asUintN(64, (a ^ (a >> 27n)) * 0x94d049bb133111ebn);
  return BigInt.asIntN(64, b ^ (b >> 31n));
};
