/** Keys that each client writes again and again. */

const KEYS_OF_EACH = 1_000;

export function keyOf(client: number, round: number): string {
  return `${client}-${round % KEYS_OF_EACH}`;
}
