/** What the requests for locks take that are kept with their queue nodes: counted among the data of the tree. */

import { pack, type Packable, type QueueEntry } from '@holdfast/protocol';

type Kept = Pick<QueueEntry, 'parameters'>;

/** As of every extra of a node. */
const HEAD_BYTES = 4;

/** A request without parameters takes nothing. */
export function requestBytes(acquires: readonly Kept[]): number {
  return kept(acquires).reduce((sum, parameters) => sum + pack(parameters).length, requestHeadBytes(acquires));
}

export function requestHeadBytes(acquires: readonly Kept[]): number {
  return kept(acquires).length * HEAD_BYTES;
}

function kept(acquires: readonly Kept[]): readonly (readonly Packable[])[] {
  return acquires.flatMap(({ parameters = [] }) => (parameters.length === 0 ? [] : [parameters]));
}
