/** A semaphore: `acquire` and `release` are given how many permits, or mean one. Only who has permits can release them. */

import type { Model } from './model.ts';
import { numberIn, unknownOperation, wrongValue } from './operations.ts';
import { EXPIRE, expireAction, heldBy, ownerOf } from './owners.ts';
import { changed, describeShares, keyOfShares, NO_SHARES, total, without, type Shares } from './shares.ts';

/** The state is who has how many. */
export function semaphore(permits: number): Model<Shares> {
  return {
    name: 'semaphore',
    initial: NO_SHARES,
    keyOf: keyOfShares,
    describe: (state) =>
      `${total(state)} of ${permits} permits taken${state.size === 0 ? '' : `, by ${describeShares(state)}`}`,
    actionOf(operation) {
      const { f } = operation;
      if (f === EXPIRE) return expireAction(operation, without);
      if (f !== 'acquire' && f !== 'release') {
        throw unknownOperation('semaphore', operation, ['acquire', 'release', EXPIRE]);
      }
      const owner = ownerOf(operation);
      const count = numberIn(operation, operation.input, 'permits') ?? 1;
      if (count === 0) throw wrongValue(operation, operation.input, 'a whole number from 1');
      const what = count === 1 ? 'a permit' : `${count} permits`;
      const common = { observes: false, same: `${f} ${count} ${owner}` };
      return f === 'acquire'
        ? {
            ...common,
            leaves: heldBy(owner),
            sees: [],
            text: `acquired ${what}`,
            step: (state) => (total(state) + count <= permits ? changed(state, owner, count) : undefined),
          }
        : {
            ...common,
            sees: [heldBy(owner)],
            text: `released ${what}`,
            step: (state) => ((state.get(owner) ?? 0) >= count ? changed(state, owner, -count) : undefined),
          };
    },
  };
}
