/** Majority arithmetic over a handful of voters: plain loops that allocate nothing, since a leader counts with every answer. */

export function quorumSize(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/** The largest value that a majority has reached; each voter gives one value. */
export function quorumValue(values: readonly number[]): number {
  let largest = 0;
  for (const value of values) {
    if (value <= largest) continue;
    let reachedBy = 0;
    for (const other of values) if (other >= value) reachedBy += 1;
    if (reachedBy >= quorumSize(values.length)) largest = value;
  }
  return largest;
}
