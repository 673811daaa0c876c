/** One living session: who it is, what of its requests has been applied, and what goes when it goes. */

import type { LossReason } from '@holdfast/protocol';

import type { QueuedAcquire } from '../locks/queued-acquire.ts';
import { invariant } from '../invariant.ts';
import { utf8Length } from '../text.ts';
import type { NodeSlot } from '../tree/node-store.ts';
import type { ReplyBudget } from './reply-budget.ts';
import { ReplyMemory } from './reply-memory.ts';

/** Bytes of an acquire in the attach reply beside its lock's name: tuple, string head, two numbers. */
const ACQUIRE_OVERHEAD_BYTES = 24;

export interface NewSession {
  /** Index of the entry that creates it. */
  readonly id: number;
  readonly secretHash: string;
  readonly timeoutMs: number;
  readonly label: string;
  readonly createdAt: number;
  /** The one through which it was attached. */
  readonly server: number;
}

/** A session that is over, while nodes of it are left. */
export interface Ending {
  readonly reason: LossReason;
  /** The number of its own request to close it, which is answered when nothing is left; 0 for none. */
  readonly number: number;
}

export class Session {
  readonly id: number;
  readonly secretHash: string;
  readonly timeoutMs: number;
  readonly label: string;
  readonly createdAt: number;
  /** At which it was attached last: what comes through another is not its client's. */
  server: number;
  /** Rises with each attach; requests of earlier attachments are refused. */
  generation = 1;
  readonly memory: ReplyMemory;
  /** Ephemeral nodes but for queue nodes. In no particular order. */
  readonly ephemerals = new Set<NodeSlot>();
  /** Nothing can be asked through it any more, and nothing renews it. Set by SessionTable. */
  ending: Ending | undefined;
  /** How many of the acquires are holds. Kept by LockTable. */
  holds = 0;
  readonly #acquires = new Map<number, QueuedAcquire>();
  #acquireListBytes = 0;

  constructor(options: NewSession, budget: ReplyBudget) {
    this.memory = new ReplyMemory(budget);
    this.id = options.id;
    this.secretHash = options.secretHash;
    this.timeoutMs = options.timeoutMs;
    this.label = options.label;
    this.createdAt = options.createdAt;
    this.server = options.server;
  }

  /** Waits and holds by acquire index. In no particular order. */
  get acquires(): ReadonlyMap<number, QueuedAcquire> {
    return this.#acquires;
  }

  /** Size of all acquires as the attach reply lists them. */
  get acquireListBytes(): number {
    return this.#acquireListBytes;
  }

  addAcquire(acquire: QueuedAcquire): void {
    this.#acquires.set(acquire.acquireIndex, acquire);
    this.#acquireListBytes += acquireBytes(acquire.lock.name);
  }

  removeAcquire(acquire: QueuedAcquire): void {
    const removed = this.#acquires.delete(acquire.acquireIndex);
    invariant(removed, 'an acquire belongs to its session');
    if (acquire.token !== 0) this.holds -= 1;
    this.#acquireListBytes -= acquireBytes(acquire.lock.name);
  }

  acquiresInOrder(): QueuedAcquire[] {
    return [...this.#acquires.values()].sort((left, right) => left.acquireIndex - right.acquireIndex);
  }
}

/** What one acquire of that lock adds to the attach reply, at most. */
export function acquireBytes(lock: string): number {
  return utf8Length(lock) + ACQUIRE_OVERHEAD_BYTES;
}
