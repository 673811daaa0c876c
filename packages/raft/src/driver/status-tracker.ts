/**
 * What a replica says of itself: role, term, leader and how far it is. The machine and the operator hear of what has changed, and the
 * operator of a disk that hangs.
 */

import type { Logger } from '@holdfast/runtime';
import { NO_SERVER, type CoreStatus, type RaftCore } from '../core/index.ts';
import type { ReplicaMachine, ReplicaStatus } from '../machine.ts';
import type { ApplyLoop } from './apply-loop.ts';

export interface StatusTrackerParts {
  readonly core: Pick<RaftCore, 'status'>;
  readonly applies: Pick<ApplyLoop, 'applied'>;
  readonly machine: Pick<ReplicaMachine, 'statusChanged'>;
  readonly logger: Logger;
  /** Another server leads. */
  leaderKnown(): void;
}

export class StatusTracker {
  readonly #parts: StatusTrackerParts;
  #status: ReplicaStatus;
  #diskStalls = false;

  constructor(parts: StatusTrackerParts) {
    this.#parts = parts;
    this.#status = this.#read(parts.core.status);
  }

  /** As of the last refresh. */
  get status(): ReplicaStatus {
    return this.#status;
  }

  get diskStalls(): boolean {
    return this.#diskStalls;
  }

  refresh(): void {
    const { status } = this.#parts.core;
    this.#noteDiskStall(status.diskStalls);
    const before = this.#status;
    const after = this.#read(status);
    this.#status = after;
    const changed =
      before.role !== after.role ||
      before.term !== after.term ||
      before.leader !== after.leader ||
      before.ready !== after.ready;
    if (!changed) return;
    if (before.role !== after.role || before.leader !== after.leader) {
      const { role, term, leader } = after;
      const fields = { role, term, leader: leader === NO_SERVER ? undefined : leader };
      this.#parts.logger.info(fields, 'role or leader changed');
    }
    this.#parts.machine.statusChanged(after);
    if (after.leader !== NO_SERVER && after.role !== 'leader') this.#parts.leaderKnown();
  }

  #read(core: CoreStatus): ReplicaStatus {
    const { role, term, leader, quorumLost, commitIndex, lastIndex, voteBanned, noopIndex, successor } = core;
    const appliedIndex = this.#parts.applies.applied;
    const ready = role === 'leader' && appliedIndex >= noopIndex;
    return { role, term, leader, quorumLost, commitIndex, appliedIndex, lastIndex, voteBanned, ready, successor };
  }

  #noteDiskStall(stalls: boolean): void {
    if (stalls === this.#diskStalls) return;
    this.#diskStalls = stalls;
    if (stalls)
      this.#parts.logger.error(
        {},
        'the disk hangs: no write of the log has ended for an election timeout; this server neither leads nor votes until one does',
      );
    else this.#parts.logger.info({}, 'the disk works again: this server may lead and vote');
  }
}
