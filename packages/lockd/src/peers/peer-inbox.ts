/**
 * Brings what the other servers say to the concept that it concerns, and the loss of the leader's connection to all that wait
 * for the leader. What each message means is in peer-message.ts.
 */

import { MalformedError } from '@holdfast/protocol';
import type { ServerId } from '@holdfast/raft';
import type { Availability } from '../health/availability.ts';
import type { DiskGuard } from '../health/disk-guard.ts';
import type { DivergenceCheck } from '../health/divergence.ts';
import type { LeadershipTransfer } from '../members/leadership-transfer.ts';
import type { MembershipWishes } from '../members/membership-wishes.ts';
import { decodePeerMessages, type PeerMessage } from './peer-message.ts';
import type { PeerOutbox } from './peer-outbox.ts';
import type { Proposals } from '../requests/proposals.ts';
import type { Reads } from '../requests/reads.ts';
import type { Renewals } from '../sessions/renewals.ts';

export interface PeerInboxDeps {
  readonly peers: PeerOutbox;
  readonly availability: Availability;
  readonly proposals: Proposals;
  readonly renewals: Renewals;
  readonly reads: Reads;
  readonly divergence: DivergenceCheck;
  readonly diskGuard: DiskGuard;
  readonly transfer: LeadershipTransfer;
  readonly membership: MembershipWishes;
  isMember(server: ServerId): boolean;
}

export class PeerInbox {
  readonly #deps: PeerInboxDeps;

  constructor(deps: PeerInboxDeps) {
    this.#deps = deps;
  }

  /** @throws MalformedError */
  received(from: ServerId, payload: Uint8Array): void {
    for (const message of decodePeerMessages(payload)) {
      if (!ofMembersOnly(message) || this.#deps.isMember(from)) this.#message(from, message);
    }
  }

  /** What `peer` was sent, or sent to us, may be lost. */
  connectionLost(peer: ServerId): void {
    const { proposals, renewals, reads, divergence, membership } = this.#deps;
    divergence.lost(peer);
    membership.connectionLost(peer);
    if (peer !== proposals.leader) return;
    proposals.disconnected(peer);
    renewals.leaderLost();
    reads.leaderLost();
  }

  /** What `peer` was to be sent did not leave. */
  undelivered(peer: ServerId): void {
    const { proposals, renewals, reads, divergence, membership } = this.#deps;
    divergence.lost(peer);
    membership.connectionLost(peer);
    if (peer !== proposals.leader) return;
    proposals.undelivered(peer);
    renewals.leaderLost();
    reads.leaderLost();
  }

  #message(from: ServerId, message: PeerMessage): void {
    const { availability, proposals, renewals, reads, divergence, diskGuard, transfer, membership } = this.#deps;
    switch (message.type) {
      case 'forward':
        this.#forwarded(from, message.epoch, message.entries);
        return;
      case 'forward-refused':
        proposals.forwardRefused(from, message.epoch, message.code);
        return;
      case 'touch':
        renewals.touched(from, message.batch, message.sessions);
        return;
      case 'touched':
        renewals.acknowledged(message.batch, message.except);
        return;
      case 'read-index':
        reads.askedByPeer(from, message.batch);
        return;
      case 'read-index-answer':
        reads.answeredByPeer(message.batch, message.index);
        return;
      case 'fold':
        divergence.reported(from, message.index, message.fold);
        return;
      case 'diverged':
        divergence.toldDiverged(message.index, message.fold);
        return;
      case 'halted':
        availability.halt(message.index);
        return;
      case 'lost':
        this.connectionLost(from);
        return;
      case 'disk-report':
        diskGuard.reported(from, message.low);
        return;
      case 'disk-shortage':
        diskGuard.told(from, message.server);
        return;
      case 'transfer':
        transfer.wishedByPeer(from, message.wish, message.server);
        return;
      case 'transfer-answer':
        transfer.answeredByPeer(message.wish, message.answer);
        return;
      case 'admin':
        if (message.operation.type === 'transfer')
          throw new MalformedError('a wish for another leader has its own message');
        membership.wishedByPeer(from, message.wish, message.operation);
        return;
      case 'admin-answer':
        membership.answeredByPeer(from, message.wish, message.answer);
        return;
    }
  }

  #forwarded(from: ServerId, epoch: number, entries: readonly Uint8Array[]): void {
    const { availability, peers, proposals } = this.#deps;
    if (availability.acceptsWrites) proposals.forwarded(from, epoch, entries);
    else peers.send(from, { type: 'forward-refused', epoch, code: 'NO_LEADER' });
  }
}

/** What would change this server's mind about the ensemble; a guest of its own may not be one of it (raft, peers/peer-admission.ts). */
function ofMembersOnly({ type }: PeerMessage): boolean {
  switch (type) {
    case 'fold':
    case 'diverged':
    case 'halted':
    case 'disk-report':
    case 'forward':
    case 'touch':
    case 'admin':
    case 'transfer':
      return true;
    case 'forward-refused':
    case 'touched':
    case 'read-index':
    case 'read-index-answer':
    case 'lost':
    case 'disk-shortage':
    case 'transfer-answer':
    case 'admin-answer':
      return false;
  }
}
