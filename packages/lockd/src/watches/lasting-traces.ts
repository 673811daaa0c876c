/**
 * What a node itself still shows of what has happened to it since an index: the event that its watchers are told where the changes
 * themselves are known no more. Several changes become one event; who was created and deleted since shows nothing.
 */

import type { NodeEventType } from '@holdfast/protocol';
import type { NodeSlot, TreeLookup } from '@holdfast/state';
import { CHILDREN, DATA, PERSISTENT, type WatchBits } from './watch-kinds.ts';

export interface Trace {
  /** Whether there was a node at the path at that index. */
  readonly existed: boolean;
  readonly node: NodeSlot | undefined;
  readonly from: number;
}

const NOTHING: readonly NodeEventType[] = [];

/** What watches of these kinds are told. A recursive one is told nothing: what became of nodes below it is not to be seen. */
export function lastingTraces(
  kinds: WatchBits,
  { existed, node, from }: Trace,
  tree: Pick<TreeLookup, 'stat'>,
): readonly NodeEventType[] {
  if ((kinds & (DATA | CHILDREN | PERSISTENT)) === 0) return NOTHING;
  const ofNode = (kinds & (DATA | PERSISTENT)) !== 0;
  const ofChildren = (kinds & (CHILDREN | PERSISTENT)) !== 0;
  if (node === undefined) return existed ? ['deleted'] : NOTHING;
  const { czxid, mzxid, pzxid } = tree.stat(node);
  if (czxid > from) {
    if (ofNode) return ['created'];
    // Its children are those of another node now.
    return existed ? ['deleted'] : NOTHING;
  }
  const events: NodeEventType[] = [];
  if (ofNode && mzxid > from) events.push('changed');
  if (ofChildren && pzxid > from) events.push('children');
  return events;
}
