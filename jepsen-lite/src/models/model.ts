/**
 * A sequential object that a history of operations is compared with: what each operation does to it, and in which states it can have been
 * answered as it was. Models are deterministic: where an answer is not known, the state after it is the one that allows the most.
 */

import type { Operation, Value } from '../history/operations/operation.ts';

export interface States<State> {
  readonly initial: State;
  /** Equal for equal states, and for no others. */
  keyOf(state: State): string | number;
  /** For people, after "the state was". */
  describe(state: State): string;
}

export interface Model<State> extends States<State> {
  readonly name: string;
  /** What an operation of the history means. @throws HistoryFormatError where it means nothing to this model */
  actionOf(operation: Operation): Action<State>;
}

/** One operation, with what it was answered. */
export interface Action<State> {
  /** For people, after "process 3": `read 4`. */
  readonly text: string;
  /** It leaves every state as it is. */
  readonly observes: boolean;
  /** Operations whose actions have the same name do the same: either may stand for the other. */
  readonly same: string;
  /** The state after it; undefined where it cannot have been answered as it was. */
  step(state: State): State | undefined;
  /** Whether that state after it rules out an answer that is yet to be explained. The search need not go on there. @default false */
  isDeadEnd?(after: State): boolean;
  /**
   * A name for what it leaves, if others can see that only by `sees`: until one does, everything that may follow it may follow in the
   * same order without it. @default what follows may depend on it in any way
   */
  readonly leaves?: string;
  /** What others leave that it depends on having been left. @default all of it */
  readonly sees?: Sees;
}

/** Names of what others leave: the only ones, or whether one is among them. */
export type Sees = readonly string[] | ((trace: string) => boolean);

/** What the command's flags say of the object. */
export interface ModelOptions {
  /** Of registers. @default null */
  readonly initial?: Value;
  /** Of a semaphore. */
  readonly permits?: number;
  /** How often an owner may hold a reentrant mutex at once. @default without limit */
  readonly limit?: number;
}
