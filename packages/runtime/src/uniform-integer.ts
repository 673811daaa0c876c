/** An exactly uniform integer from any source of 53-bit integers. Both implementations of Random draw through it. */

const RANGE = 2 ** 53;

/** `draw` returns uniform integers in [0, 2^53). Rejects the incomplete last multiple of `bound`, so no value is favoured. */
export function uniformInteger(bound: number, draw: () => number): number {
  if (!Number.isInteger(bound) || bound < 1 || bound > RANGE) {
    throw new RangeError(`the bound of a random integer must be an integer from 1 to 2^53, not ${bound}`);
  }
  const limit = RANGE - (RANGE % bound);
  let drawn = draw();
  while (drawn >= limit) drawn = draw();
  return drawn % bound;
}
