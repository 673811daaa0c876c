/**
 * Sees what a replica does, for simulations and traces. Nothing that it is given may be changed, and its calls happen in the midst of a
 * turn: an observer records or checks, and asks nothing of the replica. What an observer leaves out costs the replica nothing.
 */

import type {
  CoreStatus,
  DurableState,
  Effect,
  LogPosition,
  Message,
  RaftEvent,
  ServerId,
  WriteSeq,
} from './core/index.ts';
import type { StageTimes } from './driver/stages/stage-clock.ts';

export interface ReplicaObserver {
  /** The replica begins with what its disk held. */
  opened(durable: DurableState): void;
  /** The core is about to take a step; should it fail, these events are the last that it heard. */
  stepping(events: readonly RaftEvent[], nowMs: number): void;
  /** The core has taken a step; the effects are yet to be carried out. */
  stepped(effects: readonly Effect[], status: CoreStatus): void;
  /** The write of that number and all before it are durable. */
  persisted(seq: WriteSeq): void;
  /** A snapshot of the state after that entry is durable; the core is about to be notified. */
  snapshotTaken(position: LogPosition): void;
  /** The message goes to the peer's connection now; everything that it had to wait for is over. */
  sending(to: ServerId, message: Message): void;
  /** A batch that this server proposed as leader has been applied; of one batch at a time, and of few a second. */
  timed(times: StageTimes): void;
}
