/**
 * removeUnused: containers that are empty again, and nodes whose time to live is over, as the leader found them. Much may have happened
 * between that and the entry, so each is looked at again: what was made anew, got a child or was changed since stays.
 */

import type { Command, UnusedNode } from '@holdfast/protocol';

import type { State } from '../state.ts';
import type { NodeSlot } from '../tree/node-store.ts';

export function removeUnused(state: State, { nodes }: Extract<Command, { type: 'removeUnused' }>): void {
  let removed = 0;
  for (const unused of nodes) {
    const node = state.nodes.find(unused.path);
    if (node === undefined || !isUnused(state, node, unused)) continue;
    state.nodes.remove(node, state.index);
    removed += 1;
  }
  state.digest.mix(removed);
  state.events.push({ type: 'unusedRemoved', nodes: removed });
}

/** A container that nobody has used yet stays: its first child is still to come. */
function isUnused({ nodes }: State, node: NodeSlot, { czxid, mzxid }: UnusedNode): boolean {
  if (nodes.czxid(node) !== czxid || nodes.childCount(node) > 0) return false;
  const lifetime = nodes.lifetime(node);
  switch (lifetime?.type) {
    case 'container':
      return nodes.creations(node) > 0 && mzxid === 0;
    case 'ttl':
      return nodes.mzxid(node) === mzxid;
    case undefined:
      return false;
  }
}
