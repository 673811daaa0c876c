/** All locks with their queues, and what is counted of them: what there is. How an entry changes it is for the lock table, and for a restore. */

import { ListingIndex } from '../queries/listing-index.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';
import { DelayedLocks } from './delayed-locks.ts';
import { LockPlace } from './lock-place.ts';
import type { Lock, QueuedAcquire } from './lock.ts';
import { RecurringMap } from '../recurring-map.ts';
import { SessionAcquires } from './session-acquires.ts';

const NO_ACQUIRES = new SessionAcquires<QueuedAcquire>();

/** What a session waits for and holds, to be looked at only. */
export type AcquiresOfSession = Readonly<Omit<SessionAcquires<QueuedAcquire>, 'add' | 'remove'>>;

export class LockStore {
  readonly nodes: NodeStore;
  readonly sessions: SessionTable;
  readonly locks: RecurringMap<string, Lock> = new RecurringMap(() => this.names.tableMoved());
  readonly names: ListingIndex<string> = new ListingIndex(this.locks);
  /** Where new locks get their containers. */
  readonly place: LockPlace;
  readonly delayed: DelayedLocks;
  /** Holds that are to be released, in no particular order: sort before anything depends on it. */
  readonly asked = new Set<QueuedAcquire>();
  holds = 0;
  waits = 0;
  /** Acquires that wait, and end when they are in a deadlock. */
  aborting = 0;

  constructor(nodes: NodeStore, sessions: SessionTable) {
    this.nodes = nodes;
    this.sessions = sessions;
    this.place = new LockPlace(nodes);
    this.delayed = new DelayedLocks(nodes);
  }

  add(lock: Lock): void {
    this.locks.set(lock.name, lock);
    this.names.added(lock.name);
  }

  delete(lock: Lock): void {
    this.locks.delete(lock.name);
    this.names.removed();
  }

  acquiresOf(session: Session): AcquiresOfSession {
    return (session.locks as SessionAcquires<QueuedAcquire> | undefined) ?? NO_ACQUIRES;
  }

  /** The same, to be changed. */
  ownAcquires(session: Session): SessionAcquires<QueuedAcquire> {
    session.locks ??= new SessionAcquires<QueuedAcquire>();
    return session.locks as SessionAcquires<QueuedAcquire>;
  }

  /** The lock whose container that is. */
  lockIn(container: NodeSlot): Lock | undefined {
    const name = this.place.lockName(container);
    const lock = name === undefined ? undefined : this.locks.get(name);
    return lock?.container === container ? lock : undefined;
  }
}

/** Where somebody waits: for a holder, for the end of a delay, or with an acquire of several locks for others of these. */
export function waitsForSomebody({ holders, waiters, delay }: Lock): boolean {
  return holders.size > 0 || delay !== undefined || waiters.first?.parts !== undefined;
}
