/**
 * Reads, transfers and changes of the members that were asked for and have not ended. The core knows each by its ticket; whoever asked
 * is called back exactly once, at the latest when the replica stops.
 */

import type { Logger } from '@holdfast/runtime';
import {
  NO_SERVER,
  type Effect,
  type LogIndex,
  type MembershipChange,
  type MembershipOutcome,
  type RejectReason,
  type TransferOutcome,
} from '../core/index.ts';
import type { TransferResult } from '../machine.ts';

export type ReadCallback = (result: LogIndex | RejectReason) => void;
export type TransferCallback = (result: TransferResult) => void;
export type ChangeCallback = (outcome: MembershipOutcome | 'stopped') => void;

export class PendingCalls {
  readonly #logger: Logger;
  #nextTicket = 1;
  readonly #reads = new Map<number, ReadCallback>();
  readonly #transfers = new Map<number, TransferCallback>();
  readonly #changes = new Map<number, ChangeCallback>();
  readonly #transferCounts = new Map<TransferOutcome, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Leadership transfers that have ended, by their outcome. */
  get transferCounts(): ReadonlyMap<TransferOutcome, number> {
    return this.#transferCounts;
  }

  /** Returns the ticket, as do the next two. */
  addRead(callback: ReadCallback): number {
    return this.#add(this.#reads, callback);
  }

  addTransfer(callback: TransferCallback): number {
    return this.#add(this.#transfers, callback);
  }

  addChange(change: MembershipChange, callback: ChangeCallback): number {
    this.#logger.info({ change }, 'a change of the members is asked for');
    return this.#add(this.#changes, callback);
  }

  endReads(tickets: readonly number[], result: LogIndex | RejectReason): void {
    for (const ticket of tickets) take(this.#reads, ticket)?.(result);
  }

  endTransfers({ tickets, outcome, target }: Extract<Effect, { type: 'transfer-ended' }>): void {
    this.#transferCounts.set(outcome, (this.#transferCounts.get(outcome) ?? 0) + 1);
    this.#logger.info({ outcome, peer: target === NO_SERVER ? undefined : target }, 'leadership transfer ended');
    for (const ticket of tickets) take(this.#transfers, ticket)?.({ outcome, target });
  }

  endChange({ ticket, outcome }: Extract<Effect, { type: 'membership-ended' }>): void {
    this.#logger.info({ outcome }, 'a change of the members ended');
    take(this.#changes, ticket)?.(outcome);
  }

  stop(): void {
    for (const callback of this.#reads.values()) callback('stopped');
    this.#reads.clear();
    for (const callback of this.#transfers.values()) callback({ outcome: 'not-leader', target: NO_SERVER });
    this.#transfers.clear();
    for (const callback of this.#changes.values()) callback('stopped');
    this.#changes.clear();
  }

  #add<Callback>(calls: Map<number, Callback>, callback: Callback): number {
    const ticket = this.#nextTicket;
    this.#nextTicket += 1;
    calls.set(ticket, callback);
    return ticket;
  }
}

function take<Callback>(calls: Map<number, Callback>, ticket: number): Callback | undefined {
  const callback = calls.get(ticket);
  calls.delete(ticket);
  return callback;
}
