/** A node that may go by itself, as the leader looks at it to find out whether it is time. */

import type { NodeSlot } from './node-slot.ts';
import type { NodeStore } from './node-store.ts';

export interface LimitedNode {
  readonly czxid: number;
  readonly mzxid: number;
  readonly mtime: number;
  /** Undefined for a container. */
  readonly ttlMs: number | undefined;
  readonly children: number;
  /** A container that never had a child stays. */
  readonly everUsed: boolean;
}

/** Undefined for one that does not go by itself, and where there is none. */
export function limitedNode(nodes: NodeStore, node: NodeSlot): LimitedNode | undefined {
  const lifetime = nodes.isUsed(node) ? nodes.lifetime(node) : undefined;
  if (lifetime === undefined) return undefined;
  return {
    czxid: nodes.czxid(node),
    mzxid: nodes.mzxid(node),
    mtime: nodes.mtime(node),
    ttlMs: lifetime.type === 'ttl' ? lifetime.ttlMs : undefined,
    children: nodes.childCount(node),
    everUsed: nodes.creations(node) > 0,
  };
}
