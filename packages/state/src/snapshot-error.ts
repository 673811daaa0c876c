/**
 * Bytes from which no state can be restored. `MALFORMED`: they are not a whole, sound snapshot. `UNSUPPORTED`: another version of this
 * program wrote them. Thrown before anything of the machine has changed.
 */
export class SnapshotError extends Error {
  readonly code: 'MALFORMED' | 'UNSUPPORTED';

  constructor(code: SnapshotError['code'], problem: string, options?: ErrorOptions) {
    const advice =
      code === 'MALFORMED'
        ? 'it cannot be used: restore an earlier one, or let the server fetch one from its leader'
        : 'this version cannot read it: run the version that the other servers run';
    super(`the snapshot ${problem}; ${advice}`, options);
    this.name = 'SnapshotError';
    this.code = code;
  }
}

/** For what is checked of every node: a problem that is put into words beforehand would cost more than the check. */
export function malformed(problem: string): SnapshotError {
  return new SnapshotError('MALFORMED', problem);
}

/** @throws SnapshotError when `condition` is false. */
export function wellFormed(condition: boolean, problem: () => string): asserts condition {
  if (!condition) throw malformed(problem());
}
