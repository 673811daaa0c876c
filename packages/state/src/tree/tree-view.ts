/** What can be asked of a tree before it is changed: of the tree as it is, or as a draft of changes will have made it. */

import type { NodeSlot } from './node-slot.ts';

export interface TreeView {
  /** Nodes, the root included. */
  readonly size: number;
  /** Data of all nodes, extras included. */
  readonly dataBytes: number;
  /** Names of all nodes, as they are kept. */
  readonly nameBytes: number;

  /** Undefined for what does not exist, malformed paths included. */
  find(path: string): NodeSlot | undefined;
  /** The node below `top` at what of the path begins at `from`. */
  findBelow(top: NodeSlot, path: string, from: number): NodeSlot | undefined;
  child(parent: NodeSlot, name: string): NodeSlot | undefined;
  childCount(node: NodeSlot): number;
  /** Children ever created under this node: the number that the next sequential child gets. */
  creations(node: NodeSlot): number;
  parent(node: NodeSlot): NodeSlot;
  name(node: NodeSlot): string;
  /** Of its name, as it is kept. */
  nameBytesOf(node: NodeSlot): number;
  dataLength(node: NodeSlot): number;
  /** Of its extras, as they are counted among the data. */
  extraBytes(node: NodeSlot): number;
  /** Whether it has data at all; empty data are data. */
  hasData(node: NodeSlot): boolean;
  version(node: NodeSlot): number;
  /** The session with which the node goes; 0 for a persistent one. */
  ephemeralOwner(node: NodeSlot): number;
}
