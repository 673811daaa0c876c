/** Majority arithmetic over a handful of voters: sorting seven numbers is cheaper than any cleverness, and plainly right. */

export function quorumSize(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/** The largest value that a majority has reached; each voter gives one value. */
export function quorumValue(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => b - a);
  return sorted[quorumSize(values.length) - 1] ?? 0;
}
