/**
 * Operations of unknown outcome that nobody can have seen, which a search need not order: whatever order explains all answers with one of
 * them explains them without it as well. What an action leaves and sees is its model's word (models/model.ts). One is dropped when nothing
 * that may come after it sees what it leaves: nothing that returned after it was called, and nothing else of unknown outcome that is kept.
 */

import type { Sees } from '../../models/model.ts';
import type { Step } from './step.ts';

/** Of those that returned. */
class Witnesses {
  /** When the last one returned that sees a trace. */
  readonly #lastToSee = new Map<string, number>();
  /** Those that see more than can be listed, the last to return first. */
  readonly #others: { readonly returnedAt: number; readonly sees: (trace: string) => boolean }[] = [];

  constructor(returned: readonly Step<unknown>[], traces: ReadonlySet<string>) {
    for (const { operation, action } of returned) {
      const { returnedAt } = operation;
      const { sees } = action;
      if (Array.isArray(sees)) {
        for (const trace of sees as readonly string[]) {
          if (!traces.has(trace)) continue;
          this.#lastToSee.set(trace, Math.max(this.#lastToSee.get(trace) ?? 0, returnedAt));
        }
      } else {
        this.#others.push({ returnedAt, sees: (trace) => seesTrace(sees, trace) });
      }
    }
    this.#others.sort((left, right) => right.returnedAt - left.returnedAt);
  }

  /** Whether one of them returned after that moment and sees the trace. */
  anySince(invokedAt: number, trace: string): boolean {
    if ((this.#lastToSee.get(trace) ?? 0) > invokedAt) return true;
    for (const { returnedAt, sees } of this.#others) {
      if (returnedAt <= invokedAt) return false;
      if (sees(trace)) return true;
    }
    return false;
  }
}

/** Those of `open` that may have been seen, in their order. `returned` are all others on the same object. */
export function seenOf<State>(open: readonly Step<State>[], returned: readonly Step<State>[]): readonly Step<State>[] {
  const traces = new Set(open.flatMap(({ action }) => action.leaves ?? []));
  if (traces.size === 0) return open;
  const witnesses = new Witnesses(returned, traces);
  const isKept = ({ operation, action }: Step<State>, others: readonly Step<State>[]): boolean =>
    action.leaves === undefined ||
    witnesses.anySince(operation.invokedAt, action.leaves) ||
    others.some((other) => seesTrace(other.action.sees, action.leaves ?? ''));
  let kept = open;
  // What one of them alone has seen may go when that one has gone.
  for (let before = Infinity; kept.length < before;) {
    before = kept.length;
    const observers = kept.filter(({ action }) => !Array.isArray(action.sees) || action.sees.length > 0);
    kept = kept.filter((step) => isKept(step, observers));
  }
  return kept;
}

function seesTrace(sees: Sees | undefined, trace: string): boolean {
  if (sees === undefined) return true;
  return typeof sees === 'function' ? sees(trace) : sees.includes(trace);
}
