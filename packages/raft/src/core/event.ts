/** What goes into the core and what comes out. The driver (driver/turn.ts) turns the world into events and effects into the world. */

import type { MemberFacts, MembershipChange, MembershipOutcome } from './membership/membership-change.ts';
import type {
  Entry,
  HardState,
  LogIndex,
  LogPosition,
  Message,
  ServerId,
  SnapshotPosition,
  Term,
  WriteSeq,
} from './types.ts';

export type RaftEvent =
  | { readonly type: 'message'; readonly from: ServerId; readonly message: Message }
  /** Commands for the log, in order. */
  | { readonly type: 'propose'; readonly commands: readonly Uint8Array[] }
  /** The deadline has come. */
  | { readonly type: 'deadline' }
  /** This write and every earlier one are durable. */
  | { readonly type: 'persisted'; readonly seq: WriteSeq }
  /** The disk has done a part of a write that is under way, or something that the write may have to wait for: it does not hang. */
  | { readonly type: 'disk-worked' }
  | { readonly type: 'applied'; readonly index: LogIndex }
  /** Each ticket comes back in exactly one read-ready or read-rejected. */
  | { readonly type: 'read-index'; readonly ticket: number }
  /** Messages can reach the peer again; what was under way before is lost. */
  | { readonly type: 'peer-connected'; readonly peer: ServerId }
  | { readonly type: 'peer-disconnected'; readonly peer: ServerId }
  /** Nothing listens at the peer's address: its process is gone. */
  | { readonly type: 'peer-refused'; readonly peer: ServerId }
  /** The answer to read-entries; empty when they could not be read any more. */
  | { readonly type: 'entries-read'; readonly peer: ServerId; readonly term: Term; readonly entries: readonly Entry[] }
  /**
   * A snapshot of this position, which was applied, is durable: entries up to `compactTo` (at or before it) may be forgotten. What is
   * not durable yet, or being read, stays.
   */
  | { readonly type: 'snapshot-taken'; readonly position: LogPosition; readonly compactTo: LogIndex }
  /** A leader's snapshot of this position has been received and is durable. */
  | {
      readonly type: 'snapshot-received';
      readonly from: ServerId;
      readonly term: Term;
      readonly position: SnapshotPosition;
    }
  /** The answer to send-snapshot: the peer has everything up to `index`. */
  | { readonly type: 'snapshot-sent'; readonly peer: ServerId; readonly term: Term; readonly index: LogIndex }
  /** Transfer leadership to the target, or else to the best follower. Each ticket comes back in exactly one transfer-ended. */
  | { readonly type: 'transfer'; readonly ticket: number; readonly target: ServerId | undefined }
  | { readonly type: 'eager-commit'; readonly eager: boolean }
  /** Ends in exactly one membership-ended with its ticket. */
  | { readonly type: 'change-membership'; readonly ticket: number; readonly change: MembershipChange }
  /** What members told of themselves; a leader that may change the configuration records what is new in it. */
  | { readonly type: 'member-facts'; readonly facts: readonly MemberFacts[] };

export type EventOf<Type extends RaftEvent['type']> = Extract<RaftEvent, { type: Type }>;

/**
 * Why a proposal or a read was refused. Nothing of it is in the log. `transferred`: it was held back during a transfer and is for the
 * successor, behind everything that this server proposed before.
 */
export type RejectReason = 'not-leader' | 'transferred' | 'overloaded' | 'stopped';

/** How a transfer ended. All but `transferred`, `lost-leadership` and `not-leader` leave this server leading, with nothing lost. */
export type TransferOutcome =
  /** This server leads no more, and the target had everything and was told to stand. */
  | 'transferred'
  /** This server leads no more, before the target was told. */
  | 'lost-leadership'
  /** Nobody took over within an election timeout. */
  | 'timed-out'
  /** The target is not connected, or was not heard lately. */
  | 'target-unreachable'
  /** The target lacks more of the log than the leader keeps in memory. */
  | 'target-behind'
  | 'unknown-target'
  | 'already-leader'
  /** Nobody is named, and no follower would do. */
  | 'no-target'
  /** One to another target is under way. */
  | 'in-progress'
  | 'not-leader';

export type Effect =
  /** Write all of it as one durable operation, after every write with a smaller number; then tell `persisted`. */
  | {
      readonly type: 'persist';
      readonly seq: WriteSeq;
      readonly hardState: HardState | undefined;
      /** The whole log is replaced by this snapshot, which is durable, before anything else of this write. */
      readonly snapshot: LogPosition | undefined;
      readonly truncateFrom: LogIndex | undefined;
      readonly entries: readonly Entry[];
    }
  /** Not before write `after` is durable, when given. */
  | { readonly type: 'send'; readonly to: ServerId; readonly message: Message; readonly after: WriteSeq | undefined }
  /**
   * The state is to be replaced by the received snapshot of this position. Nothing is applied until then, and then what follows it.
   * Comes before any `apply` that it is the base of.
   */
  | { readonly type: 'restore'; readonly position: LogPosition }
  /** Entries up to here are not needed any more. */
  | { readonly type: 'compact'; readonly upTo: LogIndex }
  /**
   * A peer needs entries that were compacted away: send it the newest snapshot, and say snapshot-sent. Goes on, over broken
   * connections too, for as long as `needsSnapshot` says so.
   */
  | { readonly type: 'send-snapshot'; readonly peer: ServerId; readonly term: Term }
  /** Everything up to here is committed: apply it in order. Growing. */
  | { readonly type: 'apply'; readonly upTo: LogIndex }
  | { readonly type: 'read-ready'; readonly tickets: readonly number[]; readonly index: LogIndex }
  | { readonly type: 'read-rejected'; readonly tickets: readonly number[]; readonly reason: RejectReason }
  | { readonly type: 'proposals-rejected'; readonly commands: readonly Uint8Array[]; readonly reason: RejectReason }
  /** The log has again all that it had lost: from now on this server votes. */
  | { readonly type: 'lift-vote-ban' }
  /** A peer needs entries that are no longer in memory, or so many that are committed that they shall not hold up the others. */
  | {
      readonly type: 'read-entries';
      readonly peer: ServerId;
      readonly term: Term;
      readonly from: LogIndex;
      readonly to: LogIndex;
      readonly maxBytes: number;
      /** Nothing can be committed before the peer has them. */
      readonly urgent: boolean;
    }
  | { readonly type: 'membership-ended'; readonly ticket: number; readonly outcome: MembershipOutcome }
  /** `target`: NO_SERVER when none was named and none was found. */
  | {
      readonly type: 'transfer-ended';
      readonly tickets: readonly number[];
      readonly outcome: TransferOutcome;
      readonly target: ServerId;
    };
