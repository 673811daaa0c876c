/**
 * Majority arithmetic over a handful of voters: loops by index, which allocate nothing even before they are optimized, since a leader
 * counts with every answer.
 */

export function quorumSize(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/** The largest value that a majority of the voters has reached. */
export function quorumValue<Voter>(voters: readonly Voter[], valueOf: (voter: Voter) => number): number {
  let largest = 0;
  for (let at = 0; at < voters.length; at += 1) {
    const value = valueOf(voters[at] as Voter);
    if (value > largest && countReached(voters, valueOf, value) >= quorumSize(voters.length)) largest = value;
  }
  return largest;
}

function countReached<Voter>(voters: readonly Voter[], valueOf: (voter: Voter) => number, value: number): number {
  let count = 0;
  for (let at = 0; at < voters.length; at += 1) if (valueOf(voters[at] as Voter) >= value) count += 1;
  return count;
}
