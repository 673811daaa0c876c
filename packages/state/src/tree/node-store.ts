/**
 * The nodes of the tree and their bookkeeping: what each change does to stat fields, counters and the digest. Commands decide whether
 * a change is allowed; only this store makes it. Nodes are named by slots, which mean nothing outside one replica and never reach
 * a result, so that records, numeric columns or a mix can lie behind them.
 */

import type { Stat } from '@holdfast/protocol';

import type { ChangeFeed } from './change-feed.ts';
import type { NodeLifetime } from './node-lifetime.ts';
import type { NodeExtra } from './storage/node-extras.ts';
import type { NodeSlot } from './node-slot.ts';
import type { TreeRestore } from './tree-restore.ts';
import type { TreeView } from './tree-view.ts';

export type { NodeSlot } from './node-slot.ts';

export interface NewNode {
  readonly parent: NodeSlot;
  /** Free under that parent. */
  readonly name: string;
  /** Copied. */
  readonly data: Uint8Array;
  /** The session with which the node goes; 0 for a persistent one. */
  readonly ephemeralOwner: number;
  /** In order of their tags; copied. @default none */
  readonly extras?: readonly NodeExtra[];
  readonly index: number;
  readonly stamp: number;
}

/** What is kept of some nodes' children on one server: replicated nowhere. */
export interface ChildObserver {
  childAdded(parent: NodeSlot, child: NodeSlot): void;
  /** It is still there. */
  childGoing(parent: NodeSlot, child: NodeSlot): void;
}
/** The tree as whoever listens to its changes may look at it, in the middle of an entry as well. */
export type TreeLookup = Pick<
  NodeStore,
  'root' | 'slots' | 'find' | 'parent' | 'path' | 'copyPath' | 'copyName' | 'stat'
>;

export interface NodeStore extends TreeView {
  /** "/", which always exists. */
  readonly root: NodeSlot;
  /** All slots are below. The same on every replica, as which of them are free and in which order they are used again. */
  readonly slots: number;

  path(node: NodeSlot): string;
  /** Of a node's children, in an order that means nothing. */
  firstChild(parent: NodeSlot): NodeSlot | undefined;
  nextSibling(node: NodeSlot): NodeSlot | undefined;
  /** Its path as UTF-8, without making text of it, and of the root nothing; returns its end. */
  copyPath(node: NodeSlot, into: Uint8Array, at: number): number;
  /** In order of code units. */
  childNames(parent: NodeSlot): string[];
  /** The caller's: a change of the node does not show in it. */
  data(node: NodeSlot): Uint8Array;
  stat(node: NodeSlot): Stat;
  czxid(node: NodeSlot): number;
  ctime(node: NodeSlot): number;
  mzxid(node: NodeSlot): number;
  mtime(node: NodeSlot): number;
  /** Undefined for a node that somebody deletes, or a session takes with it. */
  lifetime(node: NodeSlot): NodeLifetime | undefined;
  /** Nodes that have one, in no particular order: sort before anything depends on it. */
  withLifetime(): Iterable<NodeSlot>;

  /** Is notified of every child that comes or goes, for good. */
  observeChildren(observer: ChildObserver): void;
  /** Where changes are notified from now on. */
  reportTo(feed: ChangeFeed): void;
  create(node: NewNode): NodeSlot;
  /** Copies; undefined for none at all. */
  setData(node: NodeSlot, data: Uint8Array | undefined, index: number, stamp: number): void;
  /** A lock's grant to its queue node: mzxid becomes the token; data, version and mtime stay. */
  markGranted(node: NodeSlot, token: number): void;
  /** In order of their tags; the bytes are the caller's. */
  extras(node: NodeSlot): readonly NodeExtra[];
  /** The tags of which any node has an extra, in order. */
  extraTags(): readonly number[];
  /** Copies; undefined takes the extra away. Stat fields stay. */
  setExtra(node: NodeSlot, tag: number, bytes: Uint8Array | undefined): void;
  /** Removes a node without children. */
  remove(node: NodeSlot, index: number): void;
  /** Must be called before anything changes that belongs to a node and is kept elsewhere, as its place in a queue. */
  changing(node: NodeSlot): void;

  /** Whether the slot has a node. */
  isUsed(slot: NodeSlot): boolean;
  /** By {@link NumberField}. */
  copyNumbers(node: NodeSlot, into: Float64Array): void;
  /** UTF-16 units. */
  nameLength(node: NodeSlot): number;
  /** Its name as UTF-8, without making text of it; returns its end. */
  copyName(node: NodeSlot, into: Uint8Array, at: number): number;
  copyData(node: NodeSlot, into: Uint8Array, at: number): void;
  /** A copy, in the order in which they were left: the last is used first. */
  freeSlots(): NodeSlot[];
  /** Another tree, with that many empty slots, which takes the place of this one when it is finished. */
  beginRestore(slots: number): TreeRestore;
}
