/**
 * The sorted names of the children of a few nodes that have many, so that whoever asks again before anything has changed there does not pay
 * for sorting them again. Replicated nowhere, and no answer depends on it.
 */

import { utf8Length } from '../text.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';

/** A string's head in msgpack, at most. */
export const NAME_OVERHEAD_BYTES = 5;
/** Fewer are sorted each time. */
const MIN_KEPT_NAMES = 1_000;
const MAX_KEPT_LISTS = 4;

interface ChildList {
  /** In order of code units. */
  readonly names: readonly string[];
  /** Encoded. */
  readonly bytes: number;
}

interface KeptList extends ChildList {
  readonly czxid: number;
  readonly cversion: number;
}

export class ChildLists {
  readonly #nodes: NodeStore;
  /** The longest ago made first. */
  readonly #kept = new Map<NodeSlot, KeptList>();

  constructor(nodes: NodeStore) {
    this.#nodes = nodes;
  }

  of(node: NodeSlot): ChildList {
    const nodes = this.#nodes;
    if (nodes.childCount(node) < MIN_KEPT_NAMES) return listOf(nodes.childNames(node));
    // Every child that comes or goes raises the version; another node in the same slot was created by another entry.
    const { czxid, cversion } = nodes.stat(node);
    const known = this.#kept.get(node);
    if (known?.czxid === czxid && known.cversion === cversion) return known;
    const list = { ...listOf(nodes.childNames(node)), czxid, cversion };
    this.#kept.delete(node);
    this.#kept.set(node, list);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT_LISTS) break;
      this.#kept.delete(oldest);
    }
    return list;
  }
}

function listOf(names: readonly string[]): ChildList {
  return { names, bytes: names.reduce((sum, name) => sum + utf8Length(name) + NAME_OVERHEAD_BYTES, 0) };
}
