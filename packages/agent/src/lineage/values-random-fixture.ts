/** Random values with a seed, for tests. */
export interface Random {
  integer(least: number, most: number): number;
  pick<T>(values: readonly [T, ...T[]]): T;
}

/** Mulberry32 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  const integer = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return { integer, pick: (values) => values[integer(0, values.length - 1)] as (typeof values)[0] };
}
