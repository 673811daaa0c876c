/** What a group has shown to its clients, and whether it may. */

import type { Entry, Epoch } from '../../../../src/replication/core/index.ts';
import { applyTo, describeBuckets, type Buckets } from './buckets.ts';

/** The group has broken a promise to its clients. */
export class Violation extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Violation';
  }
}

/** What a replica has, at the moment when it shows something. */
interface Shown {
  readonly base: number;
  /** The entries behind the base. */
  readonly entries: readonly Entry[];
  readonly buckets: Buckets;
}

interface Invocation {
  /** How much had been shown when the request was made. */
  readonly shown: number;
  /** undefined: a read. */
  readonly payload: Uint8Array | undefined;
}

/**
 * One log that only grows, of all that an acknowledgement, a read or a new primary has shown. Each answer must agree with it, and must
 * lie behind what was shown before its request was made; what is read must be what the entries up to there make of nothing. A key's value
 * is that of its last write in a prefix of this log, so every key is linearizable when this holds.
 */
export class Ledger {
  readonly #shown: Entry[] = [];
  readonly #invocations = new Map<number, Invocation>();
  #highestServing: Epoch = 0;
  readonly counts = { acknowledged: 0, reads: 0, served: 0, unknown: 0 };

  get shown(): number {
    return this.#shown.length;
  }

  invoked(ticket: number, payload: Uint8Array | undefined): void {
    this.#invocations.set(ticket, { shown: this.#shown.length, payload });
  }

  serving(epoch: Epoch, barrier: number, has: Shown): void {
    this.counts.served += 1;
    if (epoch > this.#highestServing) {
      if (barrier <= this.#shown.length) {
        throw new Violation(`the primary of epoch ${epoch} serves without what was shown: ${barrier} of ${this.shown}`);
      }
      this.#highestServing = epoch;
    }
    this.#show(epoch, barrier, has);
  }

  acknowledged(ticket: number, index: number, epoch: Epoch, has: Shown): void {
    this.counts.acknowledged += 1;
    const { shown, payload } = this.#ended(ticket);
    if (has.entries[index - has.base - 1]?.payload !== payload) {
      throw new Violation(`another write is at the acknowledged index ${index}`);
    }
    if (index <= shown) throw new Violation(`a write was acknowledged before what it came after: ${index} of ${shown}`);
    this.#show(epoch, index, has);
  }

  /** `upTo`: what is answered is as of there, at least as new as the read needs. */
  read(ticket: number, upTo: number, epoch: Epoch, has: Shown): void {
    this.counts.reads += 1;
    const { shown } = this.#ended(ticket);
    if (upTo < shown) throw new Violation(`a read missed what was shown before it was asked: ${upTo} of ${shown}`);
    this.#show(epoch, upTo, has);
    this.holds(upTo, has.buckets);
  }

  /** What a replica has that has applied everything up to there. */
  holds(upTo: number, buckets: Buckets): void {
    const expected = new Map<string, string>();
    for (const entry of this.#shown.slice(0, upTo)) applyTo(expected, entry);
    const [found, wanted] = [describeBuckets(buckets), describeBuckets(expected)];
    if (found !== wanted) throw new Violation(`the buckets as of ${upTo} are ${found}, and should be ${wanted}`);
  }

  rejected(tickets: readonly number[]): void {
    for (const ticket of tickets) this.#ended(ticket);
  }

  unknown(tickets: readonly number[]): void {
    this.counts.unknown += tickets.length;
    for (const ticket of tickets) this.#ended(ticket);
  }

  #ended(ticket: number): Invocation {
    const invocation = this.#invocations.get(ticket);
    if (invocation === undefined) throw new Violation(`ticket ${ticket} ended twice`);
    this.#invocations.delete(ticket);
    return invocation;
  }

  #show(epoch: Epoch, upTo: number, { base, entries }: Shown): void {
    if (epoch < this.#highestServing && upTo > this.#shown.length) {
      throw new Violation(`a stale primary of epoch ${epoch} showed ${upTo}, that of ${this.#highestServing} serves`);
    }
    if (base > this.#shown.length) throw new Violation(`entry ${base} was forgotten before anybody was shown it`);
    for (let index = base + 1; index <= upTo; index += 1) {
      const entry = entries[index - base - 1];
      if (entry === undefined) throw new Violation(`entry ${index} was shown, and is not in the log`);
      const before = this.#shown[index - 1];
      if (before === undefined) {
        this.#shown.push(entry);
      } else if (before.epoch !== entry.epoch || before.payload !== entry.payload) {
        throw new Violation(`entry ${index} of epoch ${before.epoch} was shown, and now one of epoch ${entry.epoch}`);
      }
    }
  }
}
