/**
 * The contract between a replica and what it replicates. The replica owns the turn: it gathers what arrived, steps the core once,
 * sends one frame to each peer, starts one durable write, applies what is committed, and then lets the machine flush.
 */

import type { FeatureSet } from '@holdfast/protocol';
import type { Address } from '@holdfast/runtime';
import type {
  Entry,
  LogIndex,
  MemberRole,
  MembershipChange,
  MembershipOutcome,
  RejectReason,
  Role,
  ServerId,
  Term,
  TransferOutcome,
} from './core/index.ts';

export interface ReplicaStatus {
  readonly role: Role;
  readonly term: Term;
  /** NO_SERVER while unknown. */
  readonly leader: ServerId;
  /** It led, and has stepped down since it heard no quorum: whoever leads next may be out of its reach. Until it hears of a leader. */
  readonly quorumLost: boolean;
  readonly commitIndex: LogIndex;
  readonly appliedIndex: LogIndex;
  readonly lastIndex: LogIndex;
  /** The log has lost what it had acknowledged: this server may not vote until a leader has sent all of it again. */
  readonly voteBanned: boolean;
  /** As leader: an entry of the own term has been applied, so that the machine reflects everything that was ever committed. */
  readonly ready: boolean;
  /**
   * After this server transferred leadership: who has everything that it ever proposed, as long as nobody else can lead the term.
   * When that server then leads, nothing of it is lost. NO_SERVER otherwise.
   */
  readonly successor: ServerId;
}

/** `target`: to whom leadership went or was to go; NO_SERVER when there was nobody. */
export interface TransferResult {
  readonly outcome: TransferOutcome;
  readonly target: ServerId;
}

/** Members as this replica knows them. The client address comes with the peer's hello, empty until then. */
export interface PeerInfo {
  readonly id: ServerId;
  readonly peerAddress: Address;
  readonly clientAddress: Address;
  /** What the peer and this server both know; as the peer's last hello said. */
  readonly features: FeatureSet;
  readonly connected: boolean;
  readonly role: MemberRole;
}

/** A machine's state at one index, handed out piece by piece while later entries are applied. */
export interface MachineSnapshot {
  /**
   * At most `maxBytes` more, at least one byte; undefined when everything was handed out. The bytes are the caller's, and may lie in
   * `room`, when it is given and has as many.
   */
  next(maxBytes: number, room?: Uint8Array): Uint8Array | undefined;
  /** Nothing more of it is needed. Not called once `next` has said undefined. */
  cancel(): void;
}

/** What `next` handed out, in order, but cut anywhere: pieces need not be the same. Each is good until the next is asked for. */
export type SnapshotBytes = AsyncIterable<Uint8Array>;

/** A state that was built beside the machine's own, and that nobody sees yet. */
export interface RestoredState {
  /** It takes the place of the whole state, whatever was applied to that meanwhile; the next entry that is applied follows it. At most once. */
  adopt(): void;
}

export interface ReplicaMachine {
  /** Committed entries in index order, each exactly once in the life of this replica object, but for those that a restored snapshot holds. */
  apply(entry: Entry): void;
  /**
   * The state at the last entry that was applied (or restored), which stays what it hands out whatever is applied later. One at a
   * time. A machine without it keeps its whole log.
   */
  beginSnapshot?(): MachineSnapshot;
  /**
   * Builds the state of a snapshot whose last applied entry is `index` beside the present one, which is served and goes on being
   * applied to. At a start, before anything is applied, where a rejection ends the start; and on a follower that has fallen behind its
   * leader's log, before that log lets go of anything, where a rejection refuses the snapshot and changes nothing. What it resolves
   * with is adopted, with nothing being applied and no snapshot being taken, or dropped. Not called beside itself.
   */
  restore?(index: LogIndex, bytes: SnapshotBytes): Promise<RestoredState>;
  /**
   * Called at the end of each turn in which anything happened, after the applies: send what was gathered. May call propose,
   * readIndex and sendToPeer; those make a further turn.
   */
  flush(): void;
  /** Role, term, leader or `ready` changed. Called before the applies of the same turn. */
  statusChanged(status: ReplicaStatus): void;
  /** A proposal was refused, not being in the log. */
  proposalRejected(data: Uint8Array, reason: RejectReason): void;
  /**
   * What a peer's machine said with sendToPeer. The bytes belong to a frame: copy what is kept. Called at the begin of a turn.
   * @throws MalformedError closes the peer's connection
   */
  peerMessage(from: ServerId, payload: Uint8Array): void;
  /** The connection on which `peer` was heard has closed or was replaced: what it had sent may be lost. */
  peerDisconnected(peer: ServerId): void;
  /** A peer's client address became known or changed, or the members did. */
  peersChanged(): void;
  /** The configuration without this server is committed: it should stop, and has time to do it well. At most once. */
  removed(): void;
  /** A broken invariant or a failed disk: the replica has stopped and the process must end. */
  fatal(error: unknown): void;
}

/** What a machine may ask of its replica. No call throws or waits; everything is gathered and done in the turn's check phase. */
export interface ReplicaHandle {
  readonly status: ReplicaStatus;
  readonly peers: readonly PeerInfo[];
  /** Ends in exactly one of: proposalRejected; apply, here and everywhere; or, when leadership is lost, unknown (statusChanged). */
  propose(data: Uint8Array): void;
  /**
   * Leader only. The callback gets an index once a quorum has confirmed the leadership in a round that began after this call:
   * whatever was committed anywhere before the call is at or below it. Batched: all calls of a turn share a round.
   */
  readIndex(callback: (result: LogIndex | RejectReason) => void): void;
  /** Best effort, in order while a connection lives; false when there is none, or it is full. */
  sendToPeer(peer: ServerId, payload: Uint8Array): boolean;
  /**
   * As leader: hands leadership to `target`, or to the best follower. Proposals that come meanwhile are held back, to be proposed here
   * after all or to come back as `transferred`. `ended` is called once; a change of status shows who leads then.
   */
  transferLeadership(target?: ServerId, ended?: (result: TransferResult) => void): void;
  /**
   * Leader only. One change at a time; called back exactly once, when its last configuration is committed, or it is refused, or
   * leadership is lost and the outcome with it.
   */
  changeMembership(change: MembershipChange, callback: (outcome: MembershipOutcome | 'stopped') => void): void;
  /** Whether this follower wants to hear of commits at once rather than with the next append or heartbeat. */
  setEagerCommit(eager: boolean): void;
}
