/**
 * Who may hold a lock together: the rules a second time, knowing nothing of the product's. Every judge of locks asks here, so that a new
 * kind of lock is one case for all of them.
 */

import { LockKind, lockKinds, pack, unpackTuple, type LockRequest, type Packable } from '@holdfast/protocol';

/** Somebody who holds a lock, or wants to. */
export interface Requester {
  readonly request: LockRequest;
}

/** What a hold to write becomes when it is downgraded. */
export const TO_READ: LockRequest = { type: 'readWrite', write: false };

/** Whether a request may hold a lock beside the holders that it has. */
export function mayJoin(holders: readonly Requester[], { request }: Requester): boolean {
  switch (request.type) {
    case 'mutex':
      return holders.length === 0;
    case 'readWrite':
      return holders.length === 0 || (!request.write && holders.every(isReader));
    case 'semaphore': {
      const { permits, limit } = request;
      return holders.reduce((sum, holder) => sum + permitsOf(holder, limit), permits) <= limit;
    }
  }
}

function isReader({ request }: Requester): boolean {
  return request.type === 'readWrite' && !request.write;
}

/** Whoever counts on another number of permits leaves none. */
function permitsOf({ request }: Requester, limit: number): number {
  return request.type === 'semaphore' && request.limit === limit ? request.permits : limit;
}

/** One of the holders beside whom `next` may not hold the lock; undefined when it may. */
export function inTheWay<H extends Requester>(holders: readonly H[], next: Requester): H | undefined {
  if (mayJoin(holders, next)) return undefined;
  return holders.find((holder) => !mayJoin([holder], next)) ?? holders[0];
}

/** In whatever order they came: each may join those before it. */
export function mayHoldTogether(holders: readonly Requester[]): boolean {
  return holders.every((holder, place) => mayJoin(holders.slice(0, place), holder));
}

type KindName = LockRequest['type'];

const NAMES = new Map<number, KindName>(
  Object.entries(lockKinds.numbers).map(([name, number]) => [number, name as KindName]),
);
const plain = new Map<number, LockRequest>();

/** What was asked for, as a command or a listing has it: the number of the lock's kind, if it is no mutex, and the parameters, if there are any. */
export function requestOf(kind: number = LockKind.mutex, parameters: readonly Packable[] = []): LockRequest {
  const known = parameters.length === 0 ? plain.get(kind) : undefined;
  if (known !== undefined) return known;
  const name = NAMES.get(kind);
  if (name === undefined) throw new TypeError(`there is no kind ${kind} of locks`);
  const what = `a request for a lock of kind ${name}`;
  const reader = unpackTuple(pack(parameters), what);
  const request = lockKinds.readFields(name, reader);
  if (reader.remaining > 0) throw new TypeError(`${what} has ${reader.remaining} parameters too many`);
  if (parameters.length === 0) plain.set(kind, request);
  return request;
}
