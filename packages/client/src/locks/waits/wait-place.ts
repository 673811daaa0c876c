/** Where an acquire stands in the queues of the locks that it asks for, and which of them holds it up. */

import { MAX_PAGE_ENTRIES, type Answer, type LockDelay, type LockRequest, type QueueEntry } from '@holdfast/protocol';
import type { LockWait } from './lock-wait.ts';
import { requestOf, type Wanted } from '../wanted.ts';

/** A lock's queue as the ensemble has listed it, with what each place was asked for with, where this version knows that. */
export interface ListedQueue {
  readonly holders: readonly QueueEntry[];
  readonly held: readonly (LockRequest | undefined)[];
  /** In order. */
  readonly waiting: readonly ListedWait[];
  /** There are more that wait. */
  readonly truncated: boolean;
  readonly delay: LockDelay | undefined;
}

interface ListedWait {
  readonly acquireIndex: number;
  readonly asked: LockRequest | undefined;
}

type Place = Pick<LockWait, 'lock' | 'holders' | 'before' | 'truncated' | 'delay'>;

export function listedQueue(answer: Extract<Answer, { readonly type: 'lock' }>): ListedQueue {
  const { kind, queue, truncated, delay } = answer;
  const holders = queue.filter(({ token }) => token !== 0);
  const waiters = queue.filter(({ token }) => token === 0);
  return {
    holders,
    held: holders.map(({ parameters }) => requestOf(kind, parameters)),
    waiting: waiters.map(({ acquireIndex, parameters }) => ({ acquireIndex, asked: requestOf(kind, parameters) })),
    truncated,
    delay,
  };
}

/** Undefined where one of the queues shows that it does not wait any more: it was granted, and the news is on its way. */
export function placeOf(wanted: Wanted, acquireIndex: number, queues: readonly ListedQueue[]): Place | undefined {
  let worst: (Place & { readonly blocked: boolean }) | undefined;
  for (const [at, { lock, asked }] of wanted.requests.entries()) {
    const queue = queues[at];
    const found = queue && countBefore(queue, acquireIndex, asked);
    if (queue === undefined || found === undefined) return undefined;
    const { holders, held, delay } = queue;
    const place = { lock, holders, delay, ...found, blocked: delay !== undefined || blocks(held, asked) };
    if (worst === undefined || holdsUpMore(place, worst)) worst = place;
  }
  if (worst === undefined) return undefined;
  const { lock, holders, before, truncated, delay } = worst;
  return { lock, holders, before, truncated, delay };
}

/** Undefined for one that does not wait. */
function countBefore(
  { waiting, truncated }: ListedQueue,
  acquireIndex: number,
  asked: LockRequest,
): Pick<Place, 'before' | 'truncated'> | undefined {
  const place = waiting.findIndex((each) => each.acquireIndex === acquireIndex);
  if (place < 0) return truncated ? { before: Math.min(waiting.length, MAX_PAGE_ENTRIES), truncated } : undefined;
  if (!isRead(asked)) return { before: place, truncated: false };
  // Who waits to read behind the last one who is to write is granted together with this.
  const lastWriter = waiting.slice(0, place).findLastIndex((each) => !isRead(each.asked));
  return { before: lastWriter + 1, truncated: false };
}

/** Whether those who hold the lock keep it from being granted. */
function blocks(held: readonly (LockRequest | undefined)[], asked: LockRequest): boolean {
  if (isRead(asked)) return held.some((each) => !isRead(each));
  if (asked.type !== 'semaphore') return held.length > 0;
  const taken = held.reduce((sum, each) => sum + (each?.type === 'semaphore' ? each.permits : 0), 0);
  return taken + asked.permits > asked.limit;
}

function isRead(asked: LockRequest | undefined): boolean {
  return asked?.type === 'readWrite' && !asked.write;
}

function holdsUpMore(
  place: Pick<Place, 'before' | 'truncated'> & { readonly blocked: boolean },
  than: Pick<Place, 'before' | 'truncated'> & { readonly blocked: boolean },
): boolean {
  if (place.truncated !== than.truncated) return place.truncated;
  if (place.before !== than.before) return place.before > than.before;
  return place.blocked && !than.blocked;
}
