/**
 * How many nodes are below a node, counted in slices between which entries go on being applied: what comes or goes on the way counts as it
 * does at the end, so that the number is that of the moment in which it is told. A bit for each node that was counted; of a few nodes at a
 * time. Replicated nowhere.
 */

import type { ChildObserver, NodeSlot, NodeStore } from '../tree/node-store.ts';
import { SlotSet } from '../tree/slot-set.ts';

/** Nodes that are counted at once: about a millisecond. */
export const COUNT_SLICE_NODES = 8_192;
/** Whoever asks for another one waits. */
export const MAX_COUNTS = 4;
/** One that was not asked for while others were so often is given up. */
const MAX_ASKS_BETWEEN = 1_000;
/** So is one that was not asked for over so many changes of the tree. */
const MAX_CHANGES_BETWEEN = 65_536;

export class DescendantCounts implements ChildObserver {
  readonly #nodes: NodeStore;
  readonly #counts = new Map<NodeSlot, Count>();
  #asks = 0;

  constructor(nodes: NodeStore) {
    this.#nodes = nodes;
    nodes.observeChildren(this);
  }

  /** A slice of the work; true when that is done. False, too, while there are too many others. */
  prepare(top: NodeSlot, sliceNodes = COUNT_SLICE_NODES): boolean {
    this.#asks += 1;
    const count = this.#counts.get(top) ?? this.#begin(top);
    if (count === undefined) return false;
    count.askedAt = this.#asks;
    count.changes = 0;
    return count.walk(sliceNodes);
  }

  /** Does what is left of the work, however long that takes. */
  of(top: NodeSlot): number {
    const count = this.#counts.get(top) ?? new Count(this.#nodes, top);
    count.walk(Infinity);
    return count.total;
  }

  childAdded(parent: NodeSlot, child: NodeSlot): void {
    if (this.#counts.size === 0) return;
    for (const [top, count] of this.#counts) {
      count.added(parent, child);
      this.#changed(top, count);
    }
  }

  childGoing(_parent: NodeSlot, child: NodeSlot): void {
    if (this.#counts.size === 0) return;
    // Another node may get its slot.
    this.#counts.delete(child);
    for (const [top, count] of this.#counts) {
      count.going(child);
      this.#changed(top, count);
    }
  }

  #begin(top: NodeSlot): Count | undefined {
    if (this.#counts.size >= MAX_COUNTS) {
      for (const [other, { finished, askedAt }] of this.#counts)
        if (finished || this.#asks - askedAt > MAX_ASKS_BETWEEN) this.#counts.delete(other);
      if (this.#counts.size >= MAX_COUNTS) return undefined;
    }
    const count = new Count(this.#nodes, top);
    this.#counts.set(top, count);
    return count;
  }

  #changed(top: NodeSlot, count: Count): void {
    count.changes += 1;
    if (count.changes > MAX_CHANGES_BETWEEN) this.#counts.delete(top);
  }
}

/** Goes through the nodes below one, each before its children. */
class Count {
  readonly #nodes: NodeStore;
  readonly #top: NodeSlot;
  /** The top, and all that was counted. */
  readonly #counted = new SlotSet();
  /** What is counted next: whose parent is counted, and none of whose later siblings is. Undefined at the end. */
  #next: NodeSlot | undefined;
  total = 0;
  askedAt = 0;
  /** Of the tree, since it was asked for. */
  changes = 0;

  constructor(nodes: NodeStore, top: NodeSlot) {
    this.#nodes = nodes;
    this.#top = top;
    this.#counted.add(top);
    this.#next = nodes.firstChild(top);
  }

  get finished(): boolean {
    return this.#next === undefined;
  }

  /** At most so many nodes further; true at the end. */
  walk(atMost: number): boolean {
    for (let left = atMost; left > 0 && this.#next !== undefined; left -= 1) {
      const node = this.#next;
      this.#count(node);
      this.#next = this.#nodes.firstChild(node) ?? this.#behind(node);
    }
    return this.#next === undefined;
  }

  /** New children come before their siblings: where these are counted, the walk has passed it. */
  added(parent: NodeSlot, child: NodeSlot): void {
    if (this.#counted.has(parent)) this.#count(child);
  }

  /** It has no children. */
  going(node: NodeSlot): void {
    if (this.#next === node) this.#next = this.#behind(node);
    if (!this.#counted.has(node)) return;
    this.#counted.delete(node);
    this.total -= 1;
  }

  #count(node: NodeSlot): void {
    this.#counted.add(node);
    this.total += 1;
  }

  /** What comes behind that node and all that is below it. */
  #behind(node: NodeSlot): NodeSlot | undefined {
    const nodes = this.#nodes;
    for (let at = node; at !== this.#top; at = nodes.parent(at)) {
      const sibling = nodes.nextSibling(at);
      if (sibling !== undefined) return sibling;
    }
    return undefined;
  }
}
