/** How far the search for an order came, as data: what a verdict hands over, so that it can be kept, sent and shown. */

import type { OrderedOperation, PartialLinearization } from '../verdict.ts';
import type { Impossible } from './search.ts';
import type { Step } from './step.ts';

/** Of a long prefix its end tells enough. */
const MAX_ORDERED = 40;
const MAX_CONCURRENT = 40;

/** `textOf` says who did what; `describe` says what a state is. Positions in the history are numbers of events. */
export function partialLinearization<State>(
  object: string,
  { prefix, state, stuck, concurrent, explained, returns }: Impossible<State>,
  { textOf, describe }: { readonly textOf: (step: Step<State>) => string; readonly describe: (state: State) => string },
): PartialLinearization {
  const told = (step: Step<State>): OrderedOperation => {
    const { invokedAt, returnedAt } = step.operation;
    const answer = Number.isFinite(returnedAt) ? returnedAt : undefined;
    return { text: textOf(step), invoke: invokedAt, answer };
  };
  return {
    object,
    ordered: prefix.slice(-MAX_ORDERED).map(told),
    orderedBefore: Math.max(0, prefix.length - MAX_ORDERED),
    state: describe(state),
    stuck: told(stuck),
    concurrent: concurrent.slice(0, MAX_CONCURRENT).map(told),
    explained,
    returns,
  };
}
