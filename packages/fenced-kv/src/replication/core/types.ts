/**
 * The vocabulary of replication: configurations, entries, messages, events and effects. The design is docs/replicated-store.md.
 *
 * Messages from a primary, each with an answer:
 *   install    take `epoch`, and refuse every lower one from now on. Answer: installed, or refused.
 *   append     entries after (prevIndex, prevEpoch), and the primary's commit index. Answer: appended, mismatch or refused.
 *   confirm    is `epoch` still the newest that you have installed? Answer: confirmed or refused. Reads wait for it.
 *   copy       a part of the primary's buckets, for a replica that lacks entries which are forgotten. Answer: copied, appended or refused.
 *
 * A copy has a number within its epoch, and the replica has nothing from before it. So answers and entries name the copy that they follow.
 */

/** Names one data directory for all time: a directory that was made anew is another replica. */
export type ReplicaId = string;

/** The fencing token of the lock under which a replica became primary; 0 stands for none yet. */
export type Epoch = number;

/** What the configuration node in the ensemble holds. */
export interface Configuration {
  readonly epoch: Epoch;
  readonly primary: ReplicaId;
  /** Each of them has every acknowledged entry. */
  readonly inSync: readonly ReplicaId[];
}

/** A configuration as it was read: `version` is that of the node, and grows by one with each write. */
export interface VersionedConfiguration extends Configuration {
  readonly version: number;
}

export interface Entry {
  /** 1 for the first one. */
  readonly index: number;
  /** The epoch of the primary that made the entry. */
  readonly epoch: Epoch;
  /** undefined: the barrier, with which each epoch begins. It changes nothing. */
  readonly payload: Uint8Array | undefined;
}

/** The last entry that a log has forgotten: what it did is in the buckets. Index 0: nothing is forgotten. */
export interface LogBase {
  readonly index: number;
  readonly epoch: Epoch;
}

export const NOTHING_FORGOTTEN: LogBase = { index: 0, epoch: 0 };

/** How far a copy has come, as the driver names it: the key after which it goes on. Empty at the beginning. */
export type CopyCursor = string;

/** A part of the buckets. */
export interface CopyPart {
  /** Behind which key it begins. */
  readonly from: CopyCursor;
  /** What it ends with. */
  readonly to: CopyCursor;
  readonly last: boolean;
  readonly chunk: Uint8Array;
}

export type Message =
  | { readonly type: 'install'; readonly epoch: Epoch }
  | {
      readonly type: 'installed';
      readonly epoch: Epoch;
      readonly lastIndex: number;
      readonly copy: number;
      /** The copy is not complete: this much has come. */
      readonly cursor: CopyCursor | undefined;
    }
  | {
      readonly type: 'append';
      readonly epoch: Epoch;
      readonly copy: number;
      readonly prevIndex: number;
      readonly prevEpoch: Epoch;
      readonly commit: number;
      readonly entries: readonly Entry[];
    }
  /** The log is that of the primary up to `index`, and durable up to there. */
  | { readonly type: 'appended'; readonly epoch: Epoch; readonly copy: number; readonly index: number }
  /** There is another entry at `prevIndex`, or none; `tryAfter` is where to try next. */
  | { readonly type: 'mismatch'; readonly epoch: Epoch; readonly prevIndex: number; readonly tryAfter: number }
  /** Entries after `base` bring the buckets up to date: the parts may be newer than it, each of another time. */
  | {
      readonly type: 'copy';
      readonly epoch: Epoch;
      readonly copy: number;
      readonly base: LogBase;
      readonly part: CopyPart;
    }
  /** Durable up to the cursor. */
  | { readonly type: 'copied'; readonly epoch: Epoch; readonly copy: number; readonly cursor: CopyCursor }
  | { readonly type: 'confirm'; readonly epoch: Epoch; readonly round: number }
  | { readonly type: 'confirmed'; readonly epoch: Epoch; readonly round: number }
  /** `epoch` is not the one that is installed. */
  | { readonly type: 'refused'; readonly epoch: Epoch; readonly installed: Epoch };

export type MessageOf<Type extends Message['type']> = Extract<Message, { type: Type }>;

export type ReplicationEvent =
  | { readonly type: 'message'; readonly from: ReplicaId; readonly message: Message }
  /** This replica holds the group's lock under `token`; `configuration` was read after it was granted. */
  | { readonly type: 'elected'; readonly token: Epoch; readonly configuration: VersionedConfiguration }
  /**
   * What the configuration node holds: the answer to a write, or what a watch or a read has told. As long as it does not show that a
   * write has been made or has failed, each of them has the write sent again.
   */
  | { readonly type: 'configuration'; readonly configuration: VersionedConfiguration }
  /** A write of a client; ends in exactly one acknowledged, rejected or unknown. */
  | { readonly type: 'propose'; readonly ticket: number; readonly payload: Uint8Array }
  /** A linearizable read; ends in exactly one read-ready or rejected. */
  | { readonly type: 'read'; readonly ticket: number }
  /** The write `seq` and every earlier one are durable. */
  | { readonly type: 'persisted'; readonly seq: number }
  /** The buckets have everything up to here, durably. */
  | { readonly type: 'applied'; readonly upTo: number }
  /** Entries up to here take too much room. What is not in the buckets yet, or a copy under way needs, is kept all the same. */
  | { readonly type: 'forget'; readonly upTo: number }
  /** The part that was asked for, as the buckets are now or were at any time since. */
  | { readonly type: 'copy-read'; readonly replica: ReplicaId; readonly copy: number; readonly part: CopyPart }
  /** A primary asks all the others for a sign of life: one that has its disk has answered when the answer has come. */
  | { readonly type: 'probe' }
  /** What was under way to the replica may be lost: begin with it anew. */
  | { readonly type: 'connected'; readonly replica: ReplicaId }
  /** The replica has not answered for too long. */
  | { readonly type: 'suspect'; readonly replica: ReplicaId };

/** Why this replica does not act as primary. */
export type StepDownReason =
  /** A higher epoch is installed here or at another replica, or is in the configuration. */
  | 'superseded'
  /** The token is not higher than what is installed here, or than the epoch of the configuration. */
  | 'stale-token'
  /** The in-sync set does not have this replica: it may lack acknowledged entries. */
  | 'not-in-sync';

/** What a copy does to the disk of the replica that gets it. */
export type CopyWrite =
  /** Drop the buckets and the whole log. A copy that is under way ends. */
  | { readonly step: 'drop'; readonly epoch: Epoch; readonly copy: number; readonly cursor: CopyCursor | undefined }
  | { readonly step: 'part'; readonly part: CopyPart }
  /** The last part: the buckets have everything up to the base, and the log goes on from it. */
  | { readonly step: 'end'; readonly part: CopyPart; readonly base: LogBase };

export interface DurableWrite {
  readonly installed: Epoch | undefined;
  readonly truncateFrom: number | undefined;
  readonly entries: readonly Entry[];
  /** Forget the entries up to here. */
  readonly base: LogBase | undefined;
  readonly copy: CopyWrite | undefined;
}

export type Effect =
  /** Write all of it as one durable operation, after every write with a smaller number; then tell `persisted`. */
  | ({ readonly type: 'persist'; readonly seq: number } & DurableWrite)
  /** Not before write `after` is durable, when given. */
  | { readonly type: 'send'; readonly to: ReplicaId; readonly message: Message; readonly after: number | undefined }
  /** Set the node if it has the version still. Not before write `after` is durable, when given. */
  | {
      readonly type: 'write-configuration';
      readonly expectedVersion: number;
      readonly configuration: Configuration;
      readonly after: number | undefined;
    }
  /** Every in-sync replica has the entry, durably. */
  | { readonly type: 'acknowledged'; readonly ticket: number; readonly index: number; readonly epoch: Epoch }
  /** Answer the read from a state that has applied `index`. */
  | { readonly type: 'read-ready'; readonly ticket: number; readonly index: number; readonly epoch: Epoch }
  /** Nothing of them has happened, nor will: another replica may serve them. */
  | { readonly type: 'rejected'; readonly tickets: readonly number[] }
  /** These writes may have happened, or may happen yet. */
  | { readonly type: 'unknown'; readonly tickets: readonly number[] }
  /** Everything up to here is committed: apply it in order, after the writes that were asked before. Growing, but for a copy. */
  | { readonly type: 'apply'; readonly upTo: number }
  /** Read a part of the buckets from behind the cursor; then tell `copy-read`. */
  | { readonly type: 'read-copy'; readonly replica: ReplicaId; readonly copy: number; readonly from: CopyCursor }
  | { readonly type: 'serving'; readonly epoch: Epoch; readonly barrier: number }
  /** Release the lock under `epoch`. */
  | { readonly type: 'stepped-down'; readonly epoch: Epoch; readonly reason: StepDownReason };

/** What a replica has on its disk. */
export interface DurableReplica {
  readonly installed: Epoch;
  readonly base: LogBase;
  /** How far the buckets have come, at least to the base. */
  readonly applied: number;
  /** From the base on. */
  readonly entries: readonly Entry[];
  /** The last copy that was begun; `cursor` says how far it has come while it is not complete. */
  readonly copy: { readonly epoch: Epoch; readonly copy: number; readonly cursor: CopyCursor | undefined };
}

/** What an empty directory has. */
export const EMPTY_REPLICA: DurableReplica = {
  installed: 0,
  base: NOTHING_FORGOTTEN,
  applied: 0,
  entries: [],
  copy: { epoch: 0, copy: 0, cursor: undefined },
};

export interface ReplicationOptions {
  readonly self: ReplicaId;
  /** All replicas of the group, this one too. */
  readonly group: readonly ReplicaId[];
  /** A primary makes no in-sync set smaller than this: a majority of the group. */
  readonly minInSync: number;
  /** Entries of one append. */
  readonly maxAppendEntries: number;
  /** Bytes of their payloads; a single entry may have more. */
  readonly maxAppendBytes: number;
  /** With so many that a replica has not answered, it is sent no more. */
  readonly maxInFlightEntries: number;
  /** The same of appends: what comes meanwhile is the next one, as it is at the replica's disk. */
  readonly maxInFlightAppends: number;
}
