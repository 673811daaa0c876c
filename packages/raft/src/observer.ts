/**
 * Sees what a replica does, for simulations and traces. Nothing that it is told may be changed, and its calls happen in the midst of a
 * turn: an observer records or checks, and asks nothing of the replica.
 */

import type { CoreStatus, Effect, LogPosition, Message, ServerId, WriteSeq } from './core/index.ts';
import type { DurableState } from './log-store/log-store.ts';

export interface ReplicaObserver {
  /** The replica begins with what its disk held. */
  opened(durable: DurableState): void;
  /** The core has taken a step; the effects are yet to be carried out. */
  stepped(effects: readonly Effect[], status: CoreStatus): void;
  /** The write of that number and all before it are durable. */
  persisted(seq: WriteSeq): void;
  /** A snapshot of the state after that entry is durable; the core is about to be told. */
  snapshotTaken(position: LogPosition): void;
  /** The message goes to the peer's connection now; everything that it had to wait for is over. */
  sending(to: ServerId, message: Message): void;
}
