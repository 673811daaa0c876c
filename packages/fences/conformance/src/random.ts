/** Draws that a seed repeats. */

export interface Random {
  /** A whole number from 0 to `bound` − 1. */
  below(bound: number): number;
}

/** mulberry32: enough to draw orders and choices by. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return {
    below(bound) {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
    },
  };
}

export function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(random.below(rest.length), 1));
}
