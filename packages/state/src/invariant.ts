/** What must hold whatever the input is. The checks stay on in production: a server whose state is wrong stops rather than grants. */

/** A broken invariant: a bug or damaged memory. The server stops; going on could give one lock to two holders. */
export class InvariantError extends Error {
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
