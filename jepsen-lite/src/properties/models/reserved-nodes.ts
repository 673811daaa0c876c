/** The nodes of locks, as the operations of a transaction find them: what one takes away is not there for the next. */

import { encodeLockName, isReservedPath, LOCKS_PATH, parentPath, type QueueEntry, type Stat } from '@holdfast/protocol';

import { allAcquires, type View } from '../observation/view.ts';
import { delayBytes, requestBytes } from './request-bytes.ts';

export class ReservedNodes {
  readonly #stats: Map<string, Stat>;
  #acquires: readonly (QueueEntry & { readonly lock: string })[];
  /** Paths of the containers of delayed locks, which stay. */
  readonly #delayed: Set<string>;

  constructor(before: View) {
    const reserved = [...before.nodes].filter(([path]) => isReservedPath(path));
    this.#stats = new Map(reserved.map(([path, { stat }]) => [path, stat]));
    this.#acquires = allAcquires(before);
    this.#delayed = new Set([...before.delays.keys()].map(containerOf));
  }

  get size(): number {
    return this.#stats.size;
  }

  /** What is kept with queue nodes, and with the containers of delayed locks. */
  get bytes(): number {
    return requestBytes(this.#acquires) + delayBytes(this.#delayed.size);
  }

  find(path: string): Stat | undefined {
    return this.#stats.get(path);
  }

  /** The wait or hold with that acquire index is gone from all its queues, and with the last of a queue the lock's container, if it is not delayed. */
  revoke(acquireIndex: number): void {
    for (const { lock, token, lockDelayMs = 0, ...acquire } of this.#acquires) {
      if (acquire.acquireIndex === acquireIndex && token !== 0 && lockDelayMs > 0) this.#delayed.add(containerOf(lock));
    }
    const own = [...this.#stats].filter(([, stat]) => isQueueNode(stat) && stat.czxid === acquireIndex);
    for (const [path] of own) {
      this.#stats.delete(path);
      const container = parentPath(path);
      if (this.#delayed.has(container)) continue;
      if (![...this.#stats.keys()].some((other) => parentPath(other) === container)) this.#stats.delete(container);
    }
    this.#acquires = this.#acquires.filter((acquire) => acquire.acquireIndex !== acquireIndex);
  }
}

/** Of a reserved node: only those of queues are a session's. */
export function isQueueNode({ ephemeralOwner }: Stat): boolean {
  return ephemeralOwner !== 0;
}

function containerOf(lock: string): string {
  return `${LOCKS_PATH}/${encodeLockName(lock)}`;
}
