/**
 * A part of the server around the state machine, as the list of all parts knows it (machine-parts.ts): it says what it wants to hear, and
 * hears nothing else. A hook that no part has costs nothing.
 */

import type { ErrorCode } from '@holdfast/protocol';
import type { Entry, LogIndex, ReplicaStatus, ServerId } from '@holdfast/raft';
import type { EntryHeader, Output } from '@holdfast/state';
import type { SessionClient } from '../port/session-client.ts';
import type { PeerMessage } from '../peers/peer-message.ts';

/** What a part does with messages of other servers; each type of message has one part that handles it. */
export type PeerHandlers = {
  readonly [Type in PeerMessage['type']]?: (from: ServerId, message: Extract<PeerMessage, { type: Type }>) => void;
};

/** Why what another server was sent, or sent to us, may be lost: the connection has closed, or the message has not left. */
export type ConnectionLoss = 'disconnected' | 'undelivered';

export interface ServerPart {
  /** Messages that only a member may send: they would change this server's mind about the ensemble. */
  readonly memberMessages?: PeerHandlers;
  /** Messages that any peer may send, a non-member included (raft, peers/peer-admission.ts). */
  readonly peerMessages?: PeerHandlers;

  /** Role, term, leader or `ready` changed. Called before the entries of the same turn are applied. */
  statusChanged?(status: ReplicaStatus): void;
  /** The members changed, or the address of one became known. */
  membersChanged?(): void;
  /** What `peer` was sent, or sent to us, may be lost. */
  connectionLost?(peer: ServerId, loss: ConnectionLoss): void;
  /** Neither a leader nor a quorum has been heard for so long that this server is of no use to its clients. */
  contactLost?(): void;
  /** The servers disagree about the state and none has a majority: no write is accepted from now on. */
  halted?(): void;

  /** An entry was applied, with what it did; no outputs for one that is no command. Mostly it did no more than to answer a request. */
  applied?(entry: Entry, outputs: readonly Output[]): void;
  /** The same, but not for an entry that did no more than that: whom answers do not concern is not asked a thousand times a turn. */
  reported?(entry: Entry, outputs: readonly Output[]): void;
  /** The state is about to be replaced by that of a snapshot. */
  restoring?(): void;
  /** The state is that of a snapshot of that index; no entry was applied since. */
  restored?(index: LogIndex): void;

  /** Whatever was submitted and is not applied may never be: `code` says why. */
  submissionsLost?(code: ErrorCode): void;
  /** An entry that was submitted here is not in the log. True when this part had submitted it, or its client: nobody else is asked. */
  entryRefused?(entry: Uint8Array, header: EntryHeader, code: ErrorCode): boolean;

  /** There is one session more, or one less. */
  sessionsChanged?(): void;
  /** A session was bound to the client. */
  clientBound?(client: SessionClient): void;
  /** The client was told that it is attached. */
  clientAttached?(client: SessionClient): void;
  /** The client is gone; it is in no table any more. */
  clientClosed?(client: SessionClient): void;

  /** The turn ends: what has gathered is asked, said or proposed. */
  endOfTurn?(): void;
  /** What the turn has given others to hear leaves this server. */
  flush?(): void;
  /** This server has failed and serves no longer; its process ends in a moment. */
  fail?(): void;
  /** This server stops: no timer runs on. */
  stop?(): void;
}

export type Hook = Exclude<keyof ServerPart, 'memberMessages' | 'peerMessages'>;
