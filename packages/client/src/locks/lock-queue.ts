/** The queue of a lock as its nodes show it: made from one moment's picture, and kept by what happens to the nodes. */

import type { Holder, QueueEntry } from '@holdfast/protocol';
import type { NodeChangeEvent } from '../watches/node-watch.ts';

/** What has become of a place in the queue. */
export interface QueueChange {
  readonly type: 'waiting' | 'granted' | 'released' | 'left';
  readonly place: Holder;
}

interface Place {
  /** Of its node. */
  readonly name: string;
  readonly acquireIndex: number;
  token: number;
  session: number;
  label: string;
  /** As a later picture has shown it; undefined for one that has not been seen since it came. */
  seenToken: number | undefined;
}

export class LockQueue {
  /** Of the picture that it was made from. */
  readonly since: number;
  /** Of what it shows. */
  index: number;
  #places: Place[];

  /** @param names of the queue nodes, at the same index as the entries, of which there may be fewer */
  constructor(index: number, names: readonly string[], entries: readonly QueueEntry[]) {
    this.since = index;
    this.index = index;
    this.#places = names.toSorted(byNumber).map((name, at) => {
      const { acquireIndex, token, session, label } = entries[at] ?? NOBODY;
      return { name, acquireIndex, token, session, label, seenToken: token };
    });
  }

  get holders(): readonly Holder[] {
    return this.#places.filter(({ token }) => token !== 0).map(toHolder);
  }

  get waiters(): number {
    return this.#places.reduce((sum, { token }) => sum + (token === 0 ? 1 : 0), 0);
  }

  /** How many acquires come before the first of that session, 0 for one that holds; undefined when it has none. */
  before(session: number): number | undefined {
    const at = this.#places.findIndex((place) => place.session === session);
    if (at < 0) return undefined;
    return this.#places[at]?.token === 0 ? at : 0;
  }

  /** Undefined for what is nothing to those who watch the lock. `name`: of the node below the lock's own. */
  apply({ type, index }: NodeChangeEvent, name: string): QueueChange | undefined {
    this.index = index;
    const place = this.#places.find((each) => each.name === name);
    if (type === 'created') {
      const fresh = { name, acquireIndex: index, token: 0, session: 0, label: '', seenToken: undefined };
      this.#places.push(fresh);
      return { type: 'waiting', place: toHolder(fresh) };
    }
    if (place === undefined) return undefined;
    if (type === 'changed') {
      if (place.token !== 0) return undefined;
      place.token = index;
      return { type: 'granted', place: toHolder(place) };
    }
    this.#places = this.#places.filter((each) => each !== place);
    return { type: place.token === 0 ? 'left' : 'released', place: toHolder(place) };
  }

  /** Whether it is not known of somebody whose place it is. */
  get hasStrangers(): boolean {
    return this.#places.some(({ session }) => session === 0);
  }

  /** Takes from a later picture whose the places are. */
  learn(entries: readonly QueueEntry[]): void {
    const known = new Map(entries.map((entry) => [entry.acquireIndex, entry]));
    for (const place of this.#places) {
      const entry = known.get(place.acquireIndex);
      if (entry === undefined) continue;
      place.session = entry.session;
      place.label = entry.label;
      place.seenToken = entry.token;
    }
  }

  /** Whether the entry that asked for it has granted it, as far as that is known: then it never waited. */
  wasGrantedAtOnce({ acquireIndex }: Holder): boolean {
    const at = this.#places.findIndex((place) => place.acquireIndex === acquireIndex);
    const seenToken = this.#places[at]?.seenToken;
    // Who came first is granted at once unless it waits for another lock, too. Of who is gone again by now, that is not known.
    return seenToken === undefined ? at === 0 : seenToken === acquireIndex;
  }

  /** As it is now: whose it is may have been learnt since. */
  present(place: Holder): Holder {
    const found = this.#places.find(({ acquireIndex }) => acquireIndex === place.acquireIndex);
    return found === undefined ? place : toHolder(found);
  }
}

const NOBODY = { acquireIndex: 0, token: 0, session: 0, label: '' } as const;

function toHolder({ acquireIndex, token, session, label }: Place): Holder {
  return { acquireIndex, token, session, label };
}

/** Numbers of more than ten digits are longer. */
function byNumber(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : 1;
}
