/**
 * Pages of the children of nodes that have many: their names are put in order once, in slices, and kept so while children come and go,
 * so that a page costs what is on it. Of a few nodes, those that were asked for last; replicated nowhere, and no page depends on it.
 */

import type { ChildObserver, NodeSlot, NodeStore } from '../tree/node-store.ts';
import { ListingIndex, type KeysOfPage, type Listed } from './listing-index.ts';

/** The names of fewer are sorted for each page. */
export const MIN_INDEXED_CHILDREN = 1_000;
const MAX_INDEXED_NODES = 16;

export class ChildPages implements ChildObserver {
  readonly #nodes: NodeStore;
  /** The longest ago asked for first. */
  readonly #kept = new Map<NodeSlot, Directory>();

  constructor(nodes: NodeStore) {
    this.#nodes = nodes;
    nodes.observeChildren(this);
  }

  /** A slice of the work that a page needs first; true when that is done. */
  prepare(node: NodeSlot): boolean {
    return this.#nodes.childCount(node) < MIN_INDEXED_CHILDREN || this.#of(node).index.prepare();
  }

  /** Names after `after`, in order of code units. */
  page(node: NodeSlot, after: string, count: number): KeysOfPage<string> {
    if (this.#nodes.childCount(node) >= MIN_INDEXED_CHILDREN)
      return this.#of(node).index.page(after, after, count, () => true);
    const names = this.#nodes.childNames(node).filter((name) => name > after);
    return { keys: names.slice(0, count), more: names.length > count };
  }

  childAdded(parent: NodeSlot, child: NodeSlot): void {
    if (this.#kept.size > 0) this.#kept.get(parent)?.added(child);
  }

  childGoing(parent: NodeSlot, child: NodeSlot): void {
    if (this.#kept.size === 0) return;
    this.#kept.get(parent)?.going(child);
    // Another node may get its slot.
    this.#kept.delete(child);
  }

  #of(node: NodeSlot): Directory {
    const directory = this.#kept.get(node) ?? new Directory(this.#nodes, node);
    this.#kept.delete(node);
    this.#kept.set(node, directory);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_INDEXED_NODES) break;
      this.#kept.delete(oldest);
    }
    return directory;
  }
}

/** The children of one node, as its index asks for them. */
class Directory implements Listed<string> {
  readonly index: ListingIndex<string>;
  readonly #nodes: NodeStore;
  readonly #node: NodeSlot;
  /** While they are read: who is next. What comes meanwhile is linked before that, and read behind the last. */
  #next: NodeSlot | undefined;
  #late: string[] = [];

  constructor(nodes: NodeStore, node: NodeSlot) {
    this.#nodes = nodes;
    this.#node = node;
    this.index = new ListingIndex<string>(this);
  }

  get size(): number {
    return this.#nodes.childCount(this.#node);
  }

  has(name: string): boolean {
    return this.#nodes.child(this.#node, name) !== undefined;
  }

  keys(): Iterator<string> {
    this.#next = this.#nodes.firstChild(this.#node);
    this.#late = [];
    return { next: () => this.#read() };
  }

  added(child: NodeSlot): void {
    const name = this.#nodes.name(child);
    if (this.index.reading) this.#late.push(name);
    this.index.added(name);
  }

  going(child: NodeSlot): void {
    if (this.#next === child) this.#next = this.#nodes.nextSibling(child);
    this.index.removed();
  }

  #read(): IteratorResult<string, undefined> {
    const node = this.#next;
    if (node !== undefined) {
      this.#next = this.#nodes.nextSibling(node);
      return { done: false, value: this.#nodes.name(node) };
    }
    const name = this.#late.pop();
    return name === undefined ? { done: true, value: undefined } : { done: false, value: name };
  }
}
