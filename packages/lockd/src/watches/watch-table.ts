/**
 * Who watches what. A watch belongs to a node, not to its path: it is found by the slot of the node, or by the path while there is no
 * node. A change then costs one look at an array however many paths are watched, and a watch takes 28 bytes.
 *
 * The owner field of a row: bits 0–3 the kinds, 4 that its key is the number of a missing path, 5 that the node existed when its watcher
 * was told last, 6–11 how often a watch on such a path counts, 12–31 the number of the watcher.
 */

import { WATCH_PATH_UNITS } from '@holdfast/protocol';
import { invariant } from '@holdfast/raft';
import type { NodeSlot, TreeLookup } from '@holdfast/state';
import { ListHeads } from './list-heads.ts';
import { MissingPaths } from './paths/missing-paths.ts';
import { KINDS, RECURSIVE, kindsIn, type WatchBits } from './watch-kinds.ts';
import { NONE, RowField, WatchRows } from './watch-rows.ts';
import type { Watcher } from './watcher.ts';

const MISSING = 1 << 4;
const EXISTED = 1 << 5;
const WEIGHT_SHIFT = 6;
const MAX_WEIGHT = 63;
const WATCHER_SHIFT = 12;
/** While rows change their keys: the path has no node. */
const NO_SLOT = -1;

export function weightOf(path: string): number {
  return Math.min(MAX_WEIGHT, Math.ceil(path.length / WATCH_PATH_UNITS));
}

export class WatchTable {
  readonly #rows = new WatchRows();
  readonly #heads = new ListHeads();
  readonly #missing = new MissingPaths();
  readonly #watchers: (Watcher | undefined)[];
  #recursive = 0;
  #weight = 0;

  /** @param watchers by their numbers; kept by the caller */
  constructor(watchers: (Watcher | undefined)[]) {
    this.#watchers = watchers;
  }

  /** Watches, as they count against limits. */
  get weight(): number {
    return this.#weight;
  }

  /** Pairs of a watcher and a node. */
  get rows(): number {
    return this.#rows.size;
  }

  get rowBytes(): number {
    return this.#rows.bytes;
  }

  get hasRecursive(): boolean {
    return this.#recursive > 0;
  }

  get hasMissing(): boolean {
    return this.#missing.size > 0;
  }

  /** The row of that watcher for that path, or NONE. */
  find(watcher: Watcher, node: NodeSlot | undefined, path: string): number {
    const number = node === undefined ? this.#missing.numberOf(path) : undefined;
    if (node === undefined && number === undefined) return NONE;
    const key = node ?? (number as number);
    // Whichever of the two lists is shorter ends first.
    let ofNode = node === undefined ? this.#missing.head(key) : this.#heads.get(node);
    let ofWatcher = watcher.firstRow;
    while (ofNode !== NONE && ofWatcher !== NONE) {
      if (this.#watcherNumber(ofNode) === watcher.number) return ofNode;
      const sameKey = this.#rows.get(ofWatcher, RowField.key) === key;
      if (sameKey && this.isMissing(ofWatcher) === (node === undefined)) return ofWatcher;
      ofNode = this.#rows.get(ofNode, RowField.nextOfNode);
      ofWatcher = this.#rows.get(ofWatcher, RowField.nextOfWatcher);
    }
    return NONE;
  }

  /** Adds kinds that the watcher does not have there. */
  add(watcher: Watcher, node: NodeSlot | undefined, path: string, kinds: WatchBits): void {
    let row = this.find(watcher, node, path);
    if (row === NONE) {
      row = this.#rows.add();
      const weight = weightOf(path);
      this.#rows.set(row, RowField.owner, ((watcher.number << WATCHER_SHIFT) | (weight << WEIGHT_SHIFT)) >>> 0);
      this.#linkToKey(row, node, path);
      this.#linkToWatcher(row, watcher);
    }
    invariant((this.kinds(row) & kinds) === 0, 'a-watch-is-added-once');
    this.#setKinds(watcher, row, this.kinds(row) | kinds);
  }

  /** Takes kinds away that the row has; without any it is gone. */
  drop(row: number, kinds: WatchBits): void {
    const watcher = this.watcher(row);
    this.#setKinds(watcher, row, this.kinds(row) & ~kinds);
    if (this.kinds(row) !== 0) return;
    this.#unlinkFromKey(row);
    this.#unlinkFromWatcher(row, watcher);
    this.#rows.remove(row);
    if (this.#rows.size === 0) this.#heads.clear();
  }

  kinds(row: number): WatchBits {
    return this.#rows.get(row, RowField.owner) & KINDS;
  }

  watcher(row: number): Watcher {
    const watcher = this.#watchers[this.#watcherNumber(row)];
    invariant(watcher !== undefined, 'a-watch-has-a-watcher');
    return watcher;
  }

  /** There is no node at its path. */
  isMissing(row: number): boolean {
    return (this.#rows.get(row, RowField.owner) & MISSING) !== 0;
  }

  /** There was a node when its watcher was told last: as {@link markExisting} has seen it. */
  existed(row: number): boolean {
    return (this.#rows.get(row, RowField.owner) & EXISTED) !== 0;
  }

  firstAt(node: NodeSlot): number {
    return this.#heads.get(node);
  }

  firstMissing(path: string): number {
    const number = this.#missing.numberOf(path);
    return number === undefined ? NONE : this.#missing.head(number);
  }

  nextAt(row: number): number {
    return this.#rows.get(row, RowField.nextOfNode);
  }

  nextOf(row: number): number {
    return this.#rows.get(row, RowField.nextOfWatcher);
  }

  /** Undefined while there is none. */
  node(row: number): NodeSlot | undefined {
    return this.isMissing(row) ? undefined : (this.#rows.get(row, RowField.key) as NodeSlot);
  }

  path(row: number, tree: Pick<TreeLookup, 'path'>): string {
    const node = this.node(row);
    return node === undefined ? this.#missing.pathOf(this.#rows.get(row, RowField.key)) : tree.path(node);
  }

  /** Remembers of each of its nodes whether it exists. */
  markExisting(watcher: Watcher): void {
    for (let row = watcher.firstRow; row !== NONE; row = this.nextOf(row)) {
      const owner = this.#rows.get(row, RowField.owner);
      this.#rows.set(row, RowField.owner, ((owner & MISSING) === 0 ? owner | EXISTED : owner & ~EXISTED) >>> 0);
    }
  }

  /** The node at that path goes: what still watches it waits for another one there. */
  vanished(node: NodeSlot, path: string): void {
    for (let row = this.#heads.get(node); row !== NONE; row = this.#heads.get(node)) {
      this.#unlinkFromKey(row);
      this.#linkToKey(row, undefined, path);
    }
  }

  /** There is a node at that path from now on. */
  appeared(node: NodeSlot, path: string): void {
    for (let row = this.firstMissing(path); row !== NONE; row = this.firstMissing(path)) {
      this.#unlinkFromKey(row);
      this.#linkToKey(row, node, path);
    }
  }

  /** Every row gets the key that its path has in another tree; slots mean other nodes there. */
  rekey(before: Pick<TreeLookup, 'path'>, after: Pick<TreeLookup, 'find'>): void {
    const size = this.#rows.size;
    const rows = new Uint32Array(size);
    const slots = new Float64Array(size);
    const paths = new Map<number, string>();
    let count = 0;
    for (const watcher of this.#watchers) {
      if (watcher === undefined) continue;
      for (let row = watcher.firstRow; row !== NONE; row = this.nextOf(row)) {
        const path = this.path(row, before);
        const node = after.find(path);
        if (node === undefined) paths.set(row, path);
        rows[count] = row;
        slots[count] = node ?? NO_SLOT;
        count += 1;
      }
    }
    invariant(count === size, 'every-watch-has-a-watcher');
    for (const row of rows) this.#unlinkFromKey(row);
    this.#heads.clear();
    for (const [at, row] of rows.entries()) {
      const slot = slots[at] as number;
      this.#linkToKey(row, slot === NO_SLOT ? undefined : (slot as NodeSlot), paths.get(row) ?? '');
    }
  }

  #watcherNumber(row: number): number {
    return this.#rows.get(row, RowField.owner) >>> WATCHER_SHIFT;
  }

  #setKinds(watcher: Watcher, row: number, kinds: WatchBits): void {
    const owner = this.#rows.get(row, RowField.owner);
    const weight = ((owner >>> WEIGHT_SHIFT) & MAX_WEIGHT) * (kindsIn(kinds) - kindsIn(owner));
    const recursive = kindsIn(kinds & RECURSIVE) - kindsIn(owner & RECURSIVE);
    this.#weight += weight;
    watcher.weight += weight;
    this.#recursive += recursive;
    watcher.recursive += recursive;
    this.#rows.set(row, RowField.owner, ((owner & ~KINDS) | kinds) >>> 0);
  }

  #setMissing(row: number, missing: boolean): void {
    const owner = this.#rows.get(row, RowField.owner);
    this.#rows.set(row, RowField.owner, (missing ? owner | MISSING : owner & ~MISSING) >>> 0);
  }

  #linkToKey(row: number, node: NodeSlot | undefined, path: string): void {
    const key = node ?? this.#missing.numberOf(path) ?? this.#missing.add(path);
    this.#setMissing(row, node === undefined);
    const head = node === undefined ? this.#missing.head(key) : this.#heads.get(key);
    this.#rows.set(row, RowField.key, key);
    this.#rows.set(row, RowField.previousOfNode, NONE);
    this.#rows.set(row, RowField.nextOfNode, head);
    if (head !== NONE) this.#rows.set(head, RowField.previousOfNode, row);
    if (node === undefined) this.#missing.setHead(key, row);
    else this.#heads.set(key, row);
  }

  #unlinkFromKey(row: number): void {
    const rows = this.#rows;
    const next = rows.get(row, RowField.nextOfNode);
    const previous = rows.get(row, RowField.previousOfNode);
    if (next !== NONE) rows.set(next, RowField.previousOfNode, previous);
    if (previous !== NONE) {
      rows.set(previous, RowField.nextOfNode, next);
      return;
    }
    const key = rows.get(row, RowField.key);
    if (!this.isMissing(row)) this.#heads.set(key, next);
    else if (next === NONE) this.#missing.remove(key);
    else this.#missing.setHead(key, next);
  }

  #linkToWatcher(row: number, watcher: Watcher): void {
    const first = watcher.firstRow;
    this.#rows.set(row, RowField.nextOfWatcher, first);
    this.#rows.set(row, RowField.previousOfWatcher, NONE);
    if (first !== NONE) this.#rows.set(first, RowField.previousOfWatcher, row);
    watcher.firstRow = row;
    watcher.rows += 1;
  }

  #unlinkFromWatcher(row: number, watcher: Watcher): void {
    const rows = this.#rows;
    const next = rows.get(row, RowField.nextOfWatcher);
    const previous = rows.get(row, RowField.previousOfWatcher);
    if (next !== NONE) rows.set(next, RowField.previousOfWatcher, previous);
    if (previous === NONE) watcher.firstRow = next;
    else rows.set(previous, RowField.nextOfWatcher, next);
    watcher.rows -= 1;
  }
}
