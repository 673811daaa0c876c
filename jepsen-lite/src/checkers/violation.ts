/** What an invariant says when it is broken. The first one ends the run. */

export interface Violation {
  /** The invariant, checker or promise that is broken. */
  readonly name: string;
  readonly message: string;
}

export type Report = (name: string, message: string) => void;
