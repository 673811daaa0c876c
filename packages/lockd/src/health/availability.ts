/**
 * Whether this server serves, and why it does not: it has failed, the servers disagree about the state, it has no contact to a
 * leader, a disk is almost full, or it is stopping. Sends the clients away when it cannot serve them any longer; who only wants to read
 * what this server has, whether anybody leads or not, is served until it stops.
 */

import type { Clock } from '@holdfast/runtime';
import type { ReplicaStatus } from '@holdfast/raft';
import type { ServerPart } from '../machine/server-part.ts';
import type { DiskGuard } from './disk-guard.ts';
import { LeaderContact } from './leader-contact.ts';
import type { WritesHalt } from './writes-halt.ts';

export interface AvailabilityDeps {
  readonly clock: Clock;
  readonly diskGuard: DiskGuard;
  readonly halt: WritesHalt;
  /** No leader has been known for so long that this server is of no use. */
  contactLost(): void;
  /** No configuration has been heard of: this server joins. */
  waitsToBeAdded(): boolean;
}

export class Availability implements ServerPart {
  readonly #deps: AvailabilityDeps;
  readonly #contact: LeaderContact;
  #leader = 0;
  #stopping = false;
  #failed = false;

  constructor(options: { readonly electionTimeoutMs: number }, deps: AvailabilityDeps) {
    this.#deps = deps;
    this.#contact = new LeaderContact(options, () => deps.contactLost(), deps.clock);
  }

  /** This server serves its role: it has heard from a leader, or a quorum of followers, within two election timeouts. */
  get healthy(): boolean {
    return this.unhealthyReason === undefined;
  }

  get unhealthyReason(): string | undefined {
    if (this.#failed) return 'the server has failed and is stopping';
    if (this.haltedAt !== 0) return `the servers disagree about the state at index ${this.haltedAt}`;
    if (!this.inContact && this.#deps.waitsToBeAdded()) {
      return 'this server waits to be added to the cluster: run "lockctl member add" as its log says';
    }
    if (!this.inContact) return 'no contact to a leader or a quorum';
    return undefined;
  }

  /** New sessions are accepted. */
  get acceptsSessions(): boolean {
    return this.unreadyReason === undefined;
  }

  get unreadyReason(): string | undefined {
    if (this.#stopping) return 'the server is stopping';
    if (this.unhealthyReason !== undefined) return this.unhealthyReason;
    return this.#leader === 0 ? 'no leader is known' : this.#deps.diskGuard.problem;
  }

  get acceptsWrites(): boolean {
    return this.#deps.halt.acceptsWrites;
  }

  /** Where no majority had the same state, so that writes are refused; 0 while they are accepted. */
  get haltedAt(): number {
    return this.#deps.halt.index;
  }

  /** A leader is known, or was within two election timeouts; and this server did not lose its quorum as leader. */
  get inContact(): boolean {
    return this.#contact.serving;
  }

  /** It has a cluster's state, perhaps an old one, which may be read without a leader. */
  get showsState(): boolean {
    return !this.#failed && !this.#deps.waitsToBeAdded();
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  get failed(): boolean {
    return this.#failed;
  }

  statusChanged({ leader, quorumLost }: ReplicaStatus): void {
    this.#leader = leader;
    this.#contact.leaderKnown(leader !== 0);
    // It led, and its followers are out of reach: somebody else may lead at any moment, and this server would not hear of it.
    if (quorumLost) this.#contact.loseNow();
  }

  beginStop(): void {
    this.#stopping = true;
    this.#contact.stop();
  }

  fail(): void {
    this.#failed = true;
  }
}
