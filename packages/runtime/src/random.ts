/** Randomness. Simulations hand out one seeded stream for each concern; the node implementation uses the system's generator. */

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, bound). `bound` is at least 1 and at most 2^53. */
  integer(bound: number): number;
  /** Fresh bytes; in the node implementation fit for secrets. */
  bytes(length: number): Uint8Array;
}
