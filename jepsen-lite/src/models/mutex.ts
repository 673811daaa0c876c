/** A mutex that knows its owner: `acquire` when nobody holds it, `release` by the holder alone. `expire` frees it from its holder. */

import { keyOfValue } from '../history/operations/operation.ts';
import type { Model } from './model.ts';
import { unknownOperation } from './operations.ts';
import { EXPIRE, expireAction, heldBy, ownerOf } from './owners.ts';

/** The state is the holder. */
export function mutex(): Model<string | null> {
  return {
    name: 'mutex',
    initial: null,
    keyOf: (state) => keyOfValue(state),
    describe: (state) => (state === null ? 'free' : `held by ${state}`),
    actionOf(operation) {
      const owner = ownerOf(operation);
      const same = `${operation.f} ${owner}`;
      switch (operation.f) {
        case 'acquire':
          return {
            text: 'acquired it',
            observes: false,
            same,
            leaves: heldBy(owner),
            sees: [],
            step: (state) => (state === null ? owner : undefined),
          };
        case 'release':
          return {
            text: 'released it',
            observes: false,
            same,
            sees: [heldBy(owner)],
            step: (state) => (state === owner ? null : undefined),
          };
        case EXPIRE:
          return expireAction(operation, (state, expired) => (state === expired ? null : state));
        default:
          throw unknownOperation('mutex', operation, ['acquire', 'release', EXPIRE]);
      }
    },
  };
}
