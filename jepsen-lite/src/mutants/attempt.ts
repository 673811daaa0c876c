/** One attempt at finding something wrong, by whichever detector. */

export interface Failure {
  /**
   * - `promise`: something that the product promises is broken, and a checker, an invariant or a property says which
   * - `unexpected`: an error that nothing foresees; it tells nothing about a promise, and a mutant is not caught by it
   */
  readonly kind: 'promise' | 'unexpected';
  readonly name: string;
  readonly message: string;
  /** Of the runs of one attempt, where it has several that count: the one that found it, from 1 on. */
  readonly run?: number;
}

export interface Attempt {
  /** Undefined: nothing was found wrong. */
  readonly failure: Failure | undefined;
  readonly simulatedMs: number;
}

/** The same seed makes the same attempt. */
export type Detector = (seed: number) => Promise<Attempt>;

export function unexpectedFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { kind: 'unexpected', name: 'Error', message: String(error) };
  return { kind: 'unexpected', name: error.name, message: error.message };
}

/** An error that may be a broken invariant of the product itself, which counts as one of its promises. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Error && 'invariant' in error && typeof error.invariant === 'string') {
    return { kind: 'promise', name: error.invariant, message: error.message };
  }
  return unexpectedFailure(error);
}
