import type { CheckerName } from '../../../src/checkers/check.ts';
import type { History } from '../../../src/history/history.ts';

/** One way in which a run can break its promises: it changes one thing in a proper history. */
export interface Corruption {
  readonly what: string;
  /** The checker that must see it. */
  readonly caughtBy: CheckerName;
  /** Undefined where the history has no place for it. */
  readonly corrupt: (history: History, pick: Pick) => History | undefined;
}

/** One of them, or undefined of none. */
export type Pick = <T>(candidates: readonly T[]) => T | undefined;
