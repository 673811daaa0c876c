/** The nodes that one watch message is about, by their paths, and what of the past concerns them. */

import { parentPath, type NodeEvent } from '@holdfast/protocol';
import { ONE_SHOT, RECURSIVE, hearers, type WatchBits } from './watch-kinds.ts';
import type { HistoryRecord } from './event-history.ts';

export class WantedNodes {
  readonly #kinds = new Map<string, WatchBits>();
  #recursive = 0;
  /** Of the index that was replayed last: parents whose children were told. */
  readonly #childrenTold = new Set<string>();

  /** False when that kind is there already. */
  add(path: string, bit: WatchBits): boolean {
    const kinds = this.#kinds.get(path) ?? 0;
    if ((kinds & bit) !== 0) return false;
    this.#kinds.set(path, kinds | bit);
    if (bit === RECURSIVE) this.#recursive += 1;
    return true;
  }

  /** A change concerns none of them that is neither at nor below one of these. */
  concerned(): Iterable<string> {
    return this.#kinds.keys();
  }

  /** What is left of them, without one-shot watches that have told their event. */
  [Symbol.iterator](): Iterator<[string, WatchBits]> {
    return this.#kinds.entries();
  }

  /** Another index follows. */
  nextIndex(): void {
    this.#childrenTold.clear();
  }

  /** What of a change is to be told, each at most once; one-shot watches that tell it are over. */
  hear({ type, path }: HistoryRecord): NodeEvent[] {
    const events: NodeEvent[] = [];
    if (this.#tells(path, hearers(type)) || this.#tellsAbove(path)) events.push({ type, path });
    if (type === 'changed' || path === '/') return events;
    // Another node at that path has children of its own.
    if (type === 'deleted') this.#childrenTold.delete(path);
    const parent = parentPath(path);
    if (!this.#childrenTold.has(parent) && this.#tells(parent, hearers('children'))) {
      this.#childrenTold.add(parent);
      events.push({ type: 'children', path: parent });
    }
    return events;
  }

  /** These kinds at that path watch no longer. */
  over(path: string, bits: WatchBits): void {
    const left = (this.#kinds.get(path) ?? 0) & ~bits;
    if (left === 0) this.#kinds.delete(path);
    else this.#kinds.set(path, left);
  }

  #tells(path: string, heard: WatchBits): boolean {
    if (((this.#kinds.get(path) ?? 0) & heard) === 0) return false;
    this.over(path, heard & ONE_SHOT);
    return true;
  }

  #tellsAbove(path: string): boolean {
    if (this.#recursive === 0) return false;
    for (let at = path; at !== '/';) {
      at = parentPath(at);
      if (((this.#kinds.get(at) ?? 0) & RECURSIVE) !== 0) return true;
    }
    return false;
  }
}
