/** The parts of the replicated state, and what the entry that is being applied brings to them. Commands are functions over it. */

import type { LossReason } from '@holdfast/protocol';

import { Fold } from './fold.ts';
import type { StateLimits } from './limits.ts';
import { LockTable } from './locks/lock-table.ts';
import type { Output } from './output.ts';
import { SessionTable } from './sessions/session-table.ts';
import { RowNodeStore } from './tree/row-node-store.ts';
import type { NodeStore } from './tree/node-store.ts';

export class State {
  readonly limits: StateLimits;
  readonly fold = new Fold();
  readonly nodes: NodeStore;
  readonly sessions = new SessionTable();
  readonly locks: LockTable;

  /** Index of the entry that is being applied, or was last. */
  index = 0;
  /** Its time, never below that of an earlier entry. Only shown, never compared. */
  stamp = 0;
  /** What happened, in order, before the reply that may show it. */
  events: Output[] = [];
  /** The session that this entry ended. Told last, since its own reply goes before. */
  ended: { readonly session: number; readonly reason: LossReason } | undefined;

  constructor(limits: StateLimits) {
    this.limits = limits;
    this.nodes = new RowNodeStore(this.fold);
    this.locks = new LockTable(this.nodes, this.sessions);
  }

  begin(index: number, stamp: number): void {
    this.index = index;
    if (Number.isSafeInteger(stamp) && stamp > this.stamp) this.stamp = stamp;
    this.events = [];
    this.ended = undefined;
    this.fold.mix(index);
  }
}
