/**
 * The nodes of the tree and their bookkeeping: what each change does to stat fields, counters and the fold. Commands decide whether
 * a change is allowed; only this store makes it. Nodes are named by slots, which mean nothing outside one replica and never reach
 * a result, so that records, numeric columns or a mix can lie behind them.
 */

import type { Stat } from '@holdfast/protocol';

declare const slotBrand: unique symbol;
/** Stands for one node from its creation to its removal; then another may get the same slot. */
export type NodeSlot = number & { readonly [slotBrand]: true };

export interface NewNode {
  readonly parent: NodeSlot;
  /** Free under that parent. */
  readonly name: string;
  /** Copied. */
  readonly data: Uint8Array;
  /** The session with which the node goes; 0 for a persistent one. */
  readonly ephemeralOwner: number;
  readonly index: number;
  readonly stamp: number;
}

export interface NodeStore {
  /** "/", which always exists. */
  readonly root: NodeSlot;
  /** Nodes, the root included. */
  readonly size: number;
  /** Data of all nodes. */
  readonly dataBytes: number;

  /** Undefined for what does not exist, malformed paths included. */
  find(path: string): NodeSlot | undefined;
  child(parent: NodeSlot, name: string): NodeSlot | undefined;
  /** In order of code units. */
  childNames(parent: NodeSlot): string[];
  childCount(node: NodeSlot): number;
  /** Children ever created under this node: the number that the next sequential child gets. */
  creations(node: NodeSlot): number;
  parent(node: NodeSlot): NodeSlot;
  name(node: NodeSlot): string;
  /** The caller's: a change of the node does not show in it. */
  data(node: NodeSlot): Uint8Array;
  dataLength(node: NodeSlot): number;
  stat(node: NodeSlot): Stat;
  czxid(node: NodeSlot): number;
  ctime(node: NodeSlot): number;
  version(node: NodeSlot): number;
  ephemeralOwner(node: NodeSlot): number;

  create(node: NewNode): NodeSlot;
  /** Copies. */
  setData(node: NodeSlot, data: Uint8Array, index: number, stamp: number): void;
  /** A lock's grant to its queue node: mzxid becomes the token; data, version and mtime stay. */
  markGranted(node: NodeSlot, token: number): void;
  /** Removes a node without children. */
  remove(node: NodeSlot, index: number): void;
}
