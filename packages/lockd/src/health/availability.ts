/**
 * Whether this server serves, and why it does not: it has failed, the servers disagree about the state, it has no contact to a
 * leader, a disk is almost full, or it is stopping. Sends the clients away when it cannot serve them any longer; who only wants to read
 * what this server has, whether anybody leads or not, is served until it stops.
 */

import type { Clock, Logger } from '@holdfast/runtime';
import type { ClientConnections } from '../clients/client-connections.ts';
import type { DiskGuard } from './disk-guard.ts';
import { LeaderContact } from './leader-contact.ts';
import type { Proposals } from '../requests/proposals.ts';
import type { Reads } from '../requests/reads.ts';

export interface AvailabilityDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly connections: ClientConnections;
  readonly proposals: Proposals;
  readonly diskGuard: DiskGuard;
  readonly reads: Pick<Reads, 'dropUnasked'>;
  /** No configuration has been heard of: this server joins. */
  waitsToBeAdded(): boolean;
}

export class Availability {
  readonly #deps: AvailabilityDeps;
  readonly #contact: LeaderContact;
  #haltedAt = 0;
  #stopping = false;
  #failed = false;

  constructor(options: { readonly electionTimeoutMs: number }, deps: AvailabilityDeps) {
    this.#deps = deps;
    this.#contact = new LeaderContact(options, () => this.#contactLost(), deps.clock);
  }

  /** This server serves its role: it has heard from a leader, or a quorum of followers, within two election time-outs. */
  get healthy(): boolean {
    return this.unhealthyReason === undefined;
  }

  get unhealthyReason(): string | undefined {
    if (this.#failed) return 'the server has failed and is stopping';
    if (this.#haltedAt !== 0) return `the servers disagree about the state at index ${this.#haltedAt}`;
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
    return this.#deps.proposals.leader === 0 ? 'no leader is known' : this.#deps.diskGuard.problem;
  }

  get acceptsWrites(): boolean {
    return this.#haltedAt === 0;
  }

  /** Where no majority had the same state, so that writes are refused; 0 while they are accepted. */
  get haltedAt(): number {
    return this.#haltedAt;
  }

  /** A leader is known, or was within two election time-outs; and this server did not lose its quorum as leader. */
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

  leaderKnown(known: boolean): void {
    this.#contact.leaderKnown(known);
  }

  /** It led, and its followers are out of reach: somebody else may lead at any moment, and this server would not hear of it. */
  quorumLost(): void {
    this.#contact.loseNow();
  }

  /** The servers disagree about the state at `index`, and none has a majority. */
  halt(index: number): void {
    if (this.#haltedAt !== 0) return;
    this.#haltedAt = index;
    this.#deps.logger.error(
      { index },
      'the servers disagree about the state and none has a majority; writes are refused',
    );
    this.#deps.connections.goodbyeToDependent(
      'NO_LEADER',
      'writes are refused: the servers disagree; an operator has to restore one',
    );
  }

  beginStop(): void {
    this.#stopping = true;
    this.#contact.stop();
  }

  fail(): void {
    this.#failed = true;
  }

  #contactLost(): void {
    this.#deps.proposals.dropParked();
    this.#deps.reads.dropUnasked();
    this.#deps.connections.goodbyeToDependent('NO_LEADER', 'this server has lost contact to a leader; use another');
  }
}
