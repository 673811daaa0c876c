/** What a tree is restored by: nodes are placed in the slots that they had, parents first, and every other slot is said to be free. */

import type { NodeSlot } from './node-slot.ts';
import type { NodeExtra } from './storage/node-extras.ts';
import { NODE_NUMBERS } from './storage/node-rows.ts';

/** All of a node but its children, who name it as their parent. One object for many nodes, since a restart reads a million. */
export interface NodeImage {
  name: string;
  /** The root is its own. */
  parent: NodeSlot;
  data: Uint8Array;
  /** By {@link NumberField}. */
  readonly numbers: Float64Array;
}

export function emptyImage(): NodeImage {
  return { name: '', parent: 0 as NodeSlot, data: new Uint8Array(0), numbers: new Float64Array(NODE_NUMBERS) };
}

export interface TreeRestore {
  /** All slots are below. */
  readonly slots: number;
  /** Whether a node was placed in the slot. */
  isUsed(slot: NodeSlot): boolean;
  /** Copies. False, without effect, while its parent is missing. @throws SnapshotError for a node that cannot be there */
  place(slot: NodeSlot, node: NodeImage): boolean;
  /** Copies. Of a node that was placed; those of one node in order of their tags. @throws SnapshotError for one that cannot be there */
  placeExtra(slot: NodeSlot, extra: NodeExtra): void;
  /**
   * The store has this tree from now on. `free`: every slot in which no node was placed, in the order in which they were left.
   *
   * @throws SnapshotError when it is anything else, or the root is missing
   */
  finish(free: readonly NodeSlot[]): void;
}
