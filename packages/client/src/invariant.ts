/**
 * A rule that holds as long as this package is right, whatever servers and callers do. Checked in production too: a client that has lost
 * the order of its requests, or counts one hold twice, must not go on as if it held its locks.
 */

/** Nothing here catches it: it is thrown out of the call, or the event of the socket, that found the rule broken. */
class InvariantError extends Error {
  readonly invariant: string;

  constructor(invariant: string) {
    super(`broken invariant: ${invariant}`);
    this.name = 'InvariantError';
    this.invariant = invariant;
  }
}

/** `name` says what should have been true. @throws InvariantError when `condition` is false. */
export function invariant(condition: boolean, name: string): asserts condition {
  if (!condition) throw new InvariantError(name);
}
