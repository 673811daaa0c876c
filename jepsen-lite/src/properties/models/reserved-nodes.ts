/** The nodes of locks, as the operations of a transaction find them: what one takes away is not there for the next. */

import { isReservedPath, parentPath, type QueueEntry, type Stat } from '@holdfast/protocol';

import { allAcquires, type View } from '../observation/view.ts';
import { requestBytes } from './request-bytes.ts';

export class ReservedNodes {
  readonly #stats: Map<string, Stat>;
  #acquires: readonly QueueEntry[];

  constructor(before: View) {
    const reserved = [...before.nodes].filter(([path]) => isReservedPath(path));
    this.#stats = new Map(reserved.map(([path, { stat }]) => [path, stat]));
    this.#acquires = allAcquires(before);
  }

  get size(): number {
    return this.#stats.size;
  }

  /** What the requests that are kept with queue nodes take. */
  get bytes(): number {
    return requestBytes(this.#acquires);
  }

  find(path: string): Stat | undefined {
    return this.#stats.get(path);
  }

  /** The wait or hold with that acquire index is gone from all its queues, and with the last of a queue the lock's container. */
  revoke(acquireIndex: number): void {
    const own = [...this.#stats].filter(([, stat]) => isQueueNode(stat) && stat.czxid === acquireIndex);
    for (const [path] of own) {
      this.#stats.delete(path);
      const container = parentPath(path);
      if (![...this.#stats.keys()].some((other) => parentPath(other) === container)) this.#stats.delete(container);
    }
    this.#acquires = this.#acquires.filter((acquire) => acquire.acquireIndex !== acquireIndex);
  }
}

/** Of a reserved node: only those of queues are a session's. */
export function isQueueNode({ ephemeralOwner }: Stat): boolean {
  return ephemeralOwner !== 0;
}
