/**
 * One server as the explorer moves it: the real core, a disk, the writes that are under way, and what waits for them. A server is a
 * value: an action makes another one, and says what was sent, applied and answered meanwhile.
 */

import type {
  CoreStatus,
  Effect,
  Entry,
  LogIndex,
  MembershipChange,
  Message,
  RaftCore,
  ServerId,
  Term,
} from '@holdfast/raft/core';

import type { Disk, Persist, Snapshot } from '../../cores/disk.ts';

export type CoreRole = CoreStatus['role'];

/** What one server sends to another: a message of the core, or what its driver says about snapshots. */
export type Parcel =
  | Message
  | { readonly type: 'snapshot'; readonly term: Term; readonly snapshot: Snapshot }
  | { readonly type: 'snapshot-installed'; readonly term: Term; readonly index: LogIndex };

export type ServerAction =
  | { readonly type: 'hear'; readonly from: ServerId; readonly parcel: Parcel }
  /** Its election timeout is over. */
  | { readonly type: 'stand' }
  /** A heartbeat interval passes at a leader. */
  | { readonly type: 'beat' }
  /** The oldest write under way becomes durable. */
  | { readonly type: 'write' }
  /** The process ends, with no write under way done, and starts from its disk. */
  | { readonly type: 'crash' }
  /** It ends like that, and its log has lost all but so many of the entries behind its base. */
  | { readonly type: 'damage'; readonly kept: number }
  | { readonly type: 'propose'; readonly value: number }
  | { readonly type: 'read'; readonly ticket: number }
  | { readonly type: 'change'; readonly change: MembershipChange }
  /** Of all that is applied; the log forgets as much. */
  | { readonly type: 'snapshot' }
  | { readonly type: 'transfer'; readonly target: ServerId }
  /** Its connection to the peer breaks, and there is a new one. */
  | { readonly type: 'reconnect'; readonly peer: ServerId };

export interface Server {
  readonly core: RaftCore;
  readonly disk: Disk;
  readonly writes: readonly Persist[];
  readonly held: readonly Send[];
  readonly applied: readonly Entry[];
}

export interface Outcome {
  readonly server: Server;
  readonly sent: readonly { readonly to: ServerId; readonly parcel: Parcel }[];
  readonly applied: readonly Entry[];
  readonly answered: readonly { readonly ticket: number; readonly index: LogIndex }[];
}

/** How servers are made and moved. */
export interface ServerRules {
  readonly voters: number;
  /** Servers that run and wait to be added. */
  readonly spares: number;
  /** Writes end when they are told to; otherwise at once. */
  readonly slowDisk: boolean;
  /** Whoever stands asks for pre-votes; otherwise all are taken for given. */
  readonly preVote: boolean;
  readonly maxInflightMessages: number;
}

export type Send = Extract<Effect, { type: 'send' }>;

export function addressOf(id: ServerId): string {
  return `s${id}`;
}
