/**
 * The queues of a fake ensemble's locks: who may hold together, and who is granted when, by the rules that clients rely on. Nobody overtakes, and
 * an acquire of several locks is granted when it is the next at all of them.
 */

import {
  encodeLockName,
  LockKind,
  lockKinds,
  LOCKS_PATH,
  sequenceSuffix,
  type Acquire,
  type Holder,
  type LockRequest,
  type QueueEntry,
  type Reply,
} from '@holdfast/protocol';
import { isShared } from '../../src/locks/wanted.ts';

interface Part {
  readonly lock: string;
  asked: LockRequest;
}

/** A wait or a hold, of one lock or of several. */
export interface Place {
  /** By which it is known: the first in order of names. */
  readonly lock: string;
  readonly parts: readonly Part[];
  readonly session: number;
  readonly acquireIndex: number;
  token: number;
}

export class FakeLocks {
  #places: Place[] = [];

  /** Every lock that somebody holds or waits for, by name. */
  get names(): readonly string[] {
    const names = this.#places.flatMap(({ parts }) => parts.map(({ lock }) => lock));
    return [...new Set(names)].sort();
  }

  queue(lock: string): readonly Place[] {
    return this.#places.filter(({ parts }) => parts.some((part) => part.lock === lock));
  }

  of(session: number): readonly Place[] {
    return this.#places.filter((place) => place.session === session);
  }

  /** `lock`: any one of its locks; undefined where that does not matter. */
  find(acquireIndex: number, lock?: string): Place | undefined {
    const place = this.#places.find((candidate) => candidate.acquireIndex === acquireIndex);
    return lock === undefined || place?.parts.some((part) => part.lock === lock) === true ? place : undefined;
  }

  acquire(session: number, parts: readonly Part[], wait: boolean, index: number): Reply {
    const problem = parts.map((part) => this.#problem(part)).find((found) => found !== undefined);
    if (problem !== undefined) return { type: 'error', code: 'INVALID_ARGUMENT', message: problem };
    const blocking = parts.map((part) => this.#blocking(part)).find((found) => found !== undefined);
    if (blocking !== undefined && !wait) return { type: 'lockHeld', holder: toHolder(blocking) };
    const [lock = ''] = parts.map((part) => part.lock).sort();
    const token = blocking === undefined ? index : 0;
    const place = { lock, parts, session, acquireIndex: index, token };
    this.#places.push(place);
    return { type: 'acquire', acquireIndex: index, token, ...this.floorOf(place) };
  }

  /** Of a hold: the lowest token of those locks that others may hold, too; nothing for any other. */
  floorOf({ parts, token }: Place): { readonly floor?: number } {
    const shared = parts.filter(({ asked }) => isShared(asked));
    if (token === 0 || shared.length === 0) return {};
    return { floor: Math.min(...shared.map(({ lock }) => this.queue(lock)[0]?.token ?? token)) };
  }

  /** Of a hold to write; false for any other. */
  downgrade({ parts }: Place): boolean {
    const [part, ...others] = parts;
    if (part?.asked.type !== 'readWrite' || !part.asked.write || others.length > 0) return false;
    part.asked = { type: 'readWrite', write: false };
    return true;
  }

  remove(place: Place): void {
    this.#places = this.#places.filter((other) => other !== place);
  }

  /** Grants what is free now, in order. */
  grantPending(index: number): readonly Place[] {
    const granted: Place[] = [];
    for (const place of this.#places) {
      if (place.token !== 0 || !place.parts.every((part) => this.#isNext(place, part))) continue;
      place.token = index;
      granted.push(place);
    }
    return granted;
  }

  entries(lock: string): QueueEntry[] {
    return this.queue(lock).map((place) => {
      const parameters = lockKinds.writeFields(askedOf(place, lock));
      return { ...toHolder(place), since: 1, grantedAt: place.token === 0 ? 0 : 2, parameters };
    });
  }

  kindOf(lock: string): number {
    const [first] = this.queue(lock);
    return first === undefined ? LockKind.mutex : LockKind[askedOf(first, lock).type];
  }

  /** Why nobody can have that, whoever holds it. */
  #problem({ lock, asked }: Part): string | undefined {
    if (asked.type === 'semaphore' && asked.permits > asked.limit) return 'it asks for more permits than there are';
    const [first] = this.queue(lock);
    const present = first && askedOf(first, lock);
    if (present === undefined) return undefined;
    if (present.type !== asked.type) return `lock ${lock} is in use with another kind; use one kind for a lock`;
    if (present.type !== 'semaphore' || asked.type !== 'semaphore' || present.limit === asked.limit) return undefined;
    return `lock ${lock} is in use as a semaphore of ${present.limit} permits, not ${asked.limit}`;
  }

  /** Who is in the way of what comes to the end of the queue. */
  #blocking({ lock, asked }: Part): Place | undefined {
    const queue = this.queue(lock);
    return queue.some(({ token }) => token === 0) || !this.#mayJoin(lock, asked) ? queue[0] : undefined;
  }

  #isNext(place: Place, { lock, asked }: Part): boolean {
    return this.queue(lock).find(({ token }) => token === 0) === place && this.#mayJoin(lock, asked);
  }

  #mayJoin(lock: string, asked: LockRequest): boolean {
    const held = this.queue(lock).flatMap((place) => (place.token === 0 ? [] : [askedOf(place, lock)]));
    if (asked.type === 'mutex' || (asked.type === 'readWrite' && asked.write)) return held.length === 0;
    if (asked.type === 'readWrite') return held.every((each) => each.type === 'readWrite' && !each.write);
    const taken = held.reduce((sum, each) => sum + (each.type === 'semaphore' ? each.permits : 0), 0);
    return taken + asked.permits <= asked.limit;
  }
}

/** Of the node that stands for a place in the queue of one of its locks. */
export function queueNodePath(lock: string, { acquireIndex }: Place): string {
  return `${LOCKS_PATH}/${encodeLockName(lock)}/${queueNodeName(acquireIndex)}`;
}

export function queueNodeName(acquireIndex: number): string {
  return `q-${sequenceSuffix(acquireIndex)}`;
}

export function toAcquire({ lock, acquireIndex, token }: Place): Acquire {
  return { lock, acquireIndex, token };
}

function toHolder({ session, acquireIndex, token }: Place): Holder {
  return { session, label: '', acquireIndex, token };
}

function askedOf({ parts }: Place, lock: string): LockRequest {
  const part = parts.find((each) => each.lock === lock);
  if (part === undefined) throw new Error(`it is not in the queue of lock ${lock}`);
  return part.asked;
}
