/** How a promise says that it is broken. */

/** Says what was seen that the promise excludes. */
export class BrokenPromiseError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenPromiseError';
  }
}

/** @throws BrokenPromiseError when `condition` is false. */
export function demand(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new BrokenPromiseError(message());
}
