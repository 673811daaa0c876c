/** The parts of the replicated state, and what the entry that is being applied brings to them. Commands are functions over it. */

import type { EndReason } from '@holdfast/protocol';

import { StateDigest } from './state-digest.ts';
import type { StateLimits } from './limits.ts';
import { LockTable } from './locks/lock-table.ts';
import type { Output } from './output.ts';
import { ChildLists } from './queries/child-lists.ts';
import { ChildPages } from './queries/child-pages.ts';
import { DeadlockScans } from './locks/deadlock-scans.ts';
import { DescendantCounts } from './queries/descendant-counts.ts';
import { Capture } from './snapshot/capture.ts';
import type { SnapshotFeature } from './snapshot/features.ts';
import { rulesAt, type Rules, type Versions } from './versions.ts';
import type { Session } from './sessions/session.ts';
import { SessionTable } from './sessions/session-table.ts';
import type { HashKey } from './tree/storage/keyed-hash.ts';
import { RowNodeStore } from './tree/row-node-store.ts';
import type { NodeStore } from './tree/node-store.ts';

export interface StateCounts {
  readonly sessions: number;
  /** Locks that somebody holds or waits for, and those that are delayed. */
  readonly locks: number;
  readonly holds: number;
  readonly waits: number;
  /** The root, what is reserved, and the nodes of locks included. */
  readonly nodes: number;
  readonly dataBytes: number;
  /** Of all nodes' names. */
  readonly nameBytes: number;
}

export interface StateOptions {
  /** In the places of those of every version. */
  readonly limits: Partial<StateLimits>;
  readonly versions: Versions;
  readonly hashKey: HashKey;
}

export class State {
  readonly digest = new StateDigest();
  readonly capture = new Capture();
  readonly nodes: NodeStore;
  readonly sessions: SessionTable;
  readonly locks: LockTable;
  readonly lists: ChildLists;
  readonly pages: ChildPages;
  readonly descendants: DescendantCounts;
  readonly deadlocks: DeadlockScans;

  /** What snapshots of it may have beyond their format: known, or kept for who knows it. */
  readonly features: Map<number, SnapshotFeature>;
  readonly #options: StateOptions;
  #rules: Rules;
  /** Those of the present version. */
  limits: StateLimits;
  /** Index of the entry that is being applied, or was last. */
  index = 0;
  /** Its time, never below that of an earlier entry. Only shown, never compared. */
  stamp = 0;
  /** What happened, in order, before the reply that may show it. */
  events: Output[] = [];
  /** The session that this entry ended. Reported last, since its own reply goes before. */
  ended: { readonly session: number; readonly reason: EndReason } | undefined;

  constructor(options: StateOptions) {
    this.#options = options;
    this.features = new Map(options.versions.snapshotFeatures.map((feature) => [feature.number, feature]));
    this.#rules = rulesAt(options.versions.first, options.versions, options.limits);
    this.limits = this.#rules.limits;
    this.sessions = new SessionTable(this.capture, this.limits);
    this.nodes = new RowNodeStore(this.digest, this.capture, options.hashKey);
    this.locks = new LockTable(this.nodes, this.sessions);
    this.lists = new ChildLists(this.nodes);
    this.pages = new ChildPages(this.nodes);
    this.descendants = new DescendantCounts(this.nodes);
    this.deadlocks = new DeadlockScans(this);
  }

  /** By which entries are applied. */
  get rules(): Rules {
    return this.#rules;
  }

  get version(): number {
    return this.#rules.version;
  }

  /** Entries are applied by the rules of that version from here on. */
  raise(version: number): void {
    const { versions, limits } = this.#options;
    this.#rules = rulesAt(version, versions, limits);
    this.limits = this.#rules.limits;
    this.sessions.replies.limit(this.limits);
  }

  get counts(): StateCounts {
    const { sessions, locks, nodes } = this;
    return {
      sessions: sessions.size,
      locks: locks.size,
      holds: locks.holds,
      waits: locks.waits,
      nodes: nodes.size,
      dataBytes: nodes.dataBytes,
      nameBytes: nodes.nameBytes,
    };
  }

  /** How many the session has, queue nodes not counted. */
  ephemeralsOf(session: Session): number {
    return session.ephemerals.size;
  }

  begin(index: number, stamp: number): void {
    this.index = index;
    if (Number.isSafeInteger(stamp) && stamp > this.stamp) this.stamp = stamp;
    this.events = [];
    this.ended = undefined;
    this.digest.mix(index);
  }
}
