/** What goes into the core and what comes out. The driver (replica.ts) turns the world into events and effects into the world. */

import type { Entry, HardState, LogIndex, Message, ServerId, Term, WriteSeq } from './types.ts';

export type RaftEvent =
  | { readonly type: 'message'; readonly from: ServerId; readonly message: Message }
  /** Commands for the log, in order. */
  | { readonly type: 'propose'; readonly commands: readonly Uint8Array[] }
  /** The deadline has come. */
  | { readonly type: 'deadline' }
  /** This write and every earlier one are durable. */
  | { readonly type: 'persisted'; readonly seq: WriteSeq }
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
  /** Hand leadership to the best follower; ends in exactly one transfer-ended, which one asked for meanwhile shares. */
  | { readonly type: 'transfer' }
  | { readonly type: 'eager-commit'; readonly eager: boolean };

/** Why a proposal or a read was refused. Nothing of it is in the log. */
export type RejectReason = 'not-leader' | 'transferring' | 'overloaded' | 'stopped';

export type Effect =
  /** Write all of it as one durable operation, after every write with a smaller number; then tell `persisted`. */
  | {
      readonly type: 'persist';
      readonly seq: WriteSeq;
      readonly hardState: HardState | undefined;
      readonly truncateFrom: LogIndex | undefined;
      readonly entries: readonly Entry[];
    }
  /** Not before write `after` is durable, when given. */
  | { readonly type: 'send'; readonly to: ServerId; readonly message: Message; readonly after: WriteSeq | undefined }
  /** Everything up to here is committed: apply it in order. Growing. */
  | { readonly type: 'apply'; readonly upTo: LogIndex }
  | { readonly type: 'read-ready'; readonly tickets: readonly number[]; readonly index: LogIndex }
  | { readonly type: 'read-rejected'; readonly tickets: readonly number[]; readonly reason: RejectReason }
  | { readonly type: 'proposals-rejected'; readonly commands: readonly Uint8Array[]; readonly reason: RejectReason }
  /** A peer needs entries that are no longer in memory. */
  | {
      readonly type: 'read-entries';
      readonly peer: ServerId;
      readonly term: Term;
      readonly from: LogIndex;
      readonly to: LogIndex;
      readonly maxBytes: number;
    }
  | { readonly type: 'transfer-ended'; readonly outcome: 'transferred' | 'timed-out' | 'not-leader' | 'no-target' };
