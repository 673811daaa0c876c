/**
 * A read-write mutex: any number of readers, or one writer. An owner may hold it for reading more than once. `downgrade` makes a reader of the
 * writer; `release` gives back whatever its owner holds, where nobody knows whether a downgrade took effect.
 */

import type { Model } from './model.ts';
import { unknownOperation } from './operations.ts';
import { EXPIRE, expireAction, heldBy, ownerOf } from './owners.ts';
import { changed, describeShares, keyOfShares, NO_SHARES, without, type Shares } from './shares.ts';

export interface ReadWriteState {
  readonly writer: string | null;
  readonly readers: Shares;
}

const OPERATIONS = ['acquire-read', 'release-read', 'acquire-write', 'release-write', 'downgrade', 'release', EXPIRE];

export function readWriteMutex(): Model<ReadWriteState> {
  return {
    name: 'rw-mutex',
    initial: { writer: null, readers: NO_SHARES },
    keyOf: ({ writer, readers }) => `${JSON.stringify(writer)} ${keyOfShares(readers)}`,
    describe: ({ writer, readers }) => {
      if (writer !== null) return `held for writing by ${writer}`;
      return readers.size === 0 ? 'free' : `held for reading by ${describeShares(readers)}`;
    },
    actionOf(operation) {
      const owner = ownerOf(operation);
      const common = { observes: false, same: `${operation.f} ${owner}` };
      switch (operation.f) {
        case 'acquire-read':
          return {
            ...common,
            text: 'acquired it for reading',
            leaves: `read ${heldBy(owner)}`,
            sees: [],
            step: ({ writer, readers }) =>
              writer === null ? { writer, readers: changed(readers, owner, 1) } : undefined,
          };
        case 'release-read':
          return {
            ...common,
            text: 'released it from reading',
            sees: [`read ${heldBy(owner)}`],
            step: ({ writer, readers }) =>
              readers.has(owner) ? { writer, readers: changed(readers, owner, -1) } : undefined,
          };
        case 'acquire-write':
          return {
            ...common,
            text: 'acquired it for writing',
            leaves: `write ${heldBy(owner)}`,
            sees: [],
            step: ({ writer, readers }) =>
              writer === null && readers.size === 0 ? { writer: owner, readers } : undefined,
          };
        case 'release-write':
          return {
            ...common,
            text: 'released it from writing',
            sees: [`write ${heldBy(owner)}`],
            step: ({ writer, readers }) => (writer === owner ? { writer: null, readers } : undefined),
          };
        case 'downgrade':
          return {
            ...common,
            text: 'went on for reading',
            sees: [`write ${heldBy(owner)}`],
            step: ({ writer, readers }) =>
              writer === owner ? { writer: null, readers: changed(readers, owner, 1) } : undefined,
          };
        case 'release':
          return {
            ...common,
            text: 'released it',
            sees: [`write ${heldBy(owner)}`, `read ${heldBy(owner)}`],
            step: ({ writer, readers }) => {
              if (writer === owner) return { writer: null, readers };
              return readers.has(owner) ? { writer, readers: changed(readers, owner, -1) } : undefined;
            },
          };
        case EXPIRE:
          return expireAction(operation, ({ writer, readers }, expired) => ({
            writer: writer === expired ? null : writer,
            readers: without(readers, expired),
          }));
        default:
          throw unknownOperation('rw-mutex', operation, OPERATIONS);
      }
    },
  };
}
