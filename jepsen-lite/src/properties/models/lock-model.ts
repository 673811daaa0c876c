/**
 * What acquires ask for, and who may have it, as plainly as it can be said: each lock has a queue, in which nobody is overtaken. Knows of the
 * machine only what was reported of it.
 */

import { LockKind, lockNameProblem, type Command, type ErrorCode, type LockRequest } from '@holdfast/protocol';

import { mayJoin, requestOf } from '../../models/holders.ts';
import type { ReportedAcquire } from '../observation/acquires.ts';
import type { View } from '../observation/view.ts';

/** Since that state version there are kinds beside the mutex, acquires of several locks, and downgrades. */
const SINCE = 4;
/** Since that one there are acquires with options. */
const OPTIONS_SINCE = 5;

/** One lock that an acquire asks for. */
export interface Wanted {
  readonly lock: string;
  readonly request: LockRequest;
}

/** Where a command comes, beside what was reported of the queues: the version, and which locks are delayed. */
export type Surroundings = Pick<View, 'stateVersion' | 'locks' | 'delays'>;

/** What a command asks of which locks; undefined where it asks for none, or nobody can have that, whoever holds what. */
export function wantedBy(
  command: Command,
  before: Surroundings,
  acquires: readonly ReportedAcquire[],
): readonly Wanted[] | undefined {
  const asked = askedBy(command);
  if (asked === undefined || refusalOf(command, before, acquires) !== undefined) return undefined;
  return asked.locks.map(({ lock, kind, parameters = [] }) => ({ lock, request: requestOf(kind, parameters) }));
}

/** Why nobody can have what the command asks for; undefined for what somebody could have, and for every other command. */
export function refusalOf(
  command: Command,
  before: Surroundings,
  acquires: readonly ReportedAcquire[],
): ErrorCode | undefined {
  const asked = askedBy(command);
  if (asked === undefined) return undefined;
  if (command.type === 'acquireSeveral' && before.stateVersion < SINCE) return 'UNSUPPORTED';
  if (command.type === 'acquireWith' && before.stateVersion < OPTIONS_SINCE) return 'UNSUPPORTED';
  for (const each of asked.locks) {
    const refusal = refusalOfOne(each, before, acquires);
    if (refusal !== undefined) return refusal;
  }
  const names = new Set(asked.locks.map(({ lock }) => lock));
  return names.size === 0 || names.size < asked.locks.length ? 'INVALID_ARGUMENT' : undefined;
}

/** Whether a request that came now would hold that lock at once: it is not delayed, nobody waits, and it may join those who hold it. */
export function admits(
  acquires: readonly ReportedAcquire[],
  { lock, request }: Wanted,
  delays: View['delays'],
): boolean {
  const queue = acquires.filter((acquire) => acquire.lock === lock);
  if (delays.has(lock)) return false;
  return queue.every(({ token }) => token !== 0) && mayJoin(queue, { request });
}

/** Waits that are at the head of every queue that they are in, and may join those who hold each of the locks, none of which is delayed. */
export function grantable(acquires: readonly ReportedAcquire[], delays: View['delays']): readonly ReportedAcquire[] {
  const isNext = ({ lock, acquireIndex, request }: ReportedAcquire): boolean => {
    if (delays.has(lock)) return false;
    const queue = acquires.filter((acquire) => acquire.lock === lock);
    const head = queue.find(({ token }) => token === 0);
    const holders = queue.filter(({ token }) => token !== 0);
    return head?.acquireIndex === acquireIndex && mayJoin(holders, { request });
  };
  return acquires.filter(
    ({ token, acquireIndex }) =>
      token === 0 && acquires.filter((other) => other.acquireIndex === acquireIndex).every(isNext),
  );
}

/** Whether that hold can be downgraded: only one to write can. */
export function writes(request: LockRequest): boolean {
  return request.type === 'readWrite' && request.write;
}

type Acquire = Extract<Command, { type: 'acquire' }>;
type Named = Pick<Acquire, 'lock' | 'kind' | 'parameters'>;

function askedBy(command: Command): { readonly locks: readonly Named[] } | undefined {
  if (command.type === 'acquire') return { locks: [command] };
  return command.type === 'acquireSeveral' || command.type === 'acquireWith' ? command : undefined;
}

function refusalOfOne(
  { lock, kind, parameters = [] }: Named,
  { stateVersion, locks, delays }: Surroundings,
  acquires: readonly ReportedAcquire[],
): ErrorCode | undefined {
  const kinds: readonly number[] = stateVersion < SINCE ? [LockKind.mutex] : Object.values(LockKind);
  if (!kinds.includes(kind)) return 'UNSUPPORTED';
  const request = readRequest(kind, parameters);
  if (request === undefined || lockNameProblem(lock) !== undefined) return 'INVALID_ARGUMENT';
  if (request.type === 'semaphore' && request.permits > request.limit) return 'INVALID_ARGUMENT';
  // A delayed lock stays what it was, also where nobody waits for it.
  if (delays.has(lock) && locks.find((each) => each.lock === lock)?.kind !== kind) return 'INVALID_ARGUMENT';
  const present = acquires.find((acquire) => acquire.lock === lock)?.request;
  return present === undefined || fits(request, present) ? undefined : 'INVALID_ARGUMENT';
}

/** All who use a lock use it as one kind, and know the same number of permits. */
function fits(request: LockRequest, present: LockRequest): boolean {
  if (request.type !== present.type) return false;
  return request.type !== 'semaphore' || present.type !== 'semaphore' || request.limit === present.limit;
}

function readRequest(kind: number, parameters: NonNullable<Named['parameters']>): LockRequest | undefined {
  try {
    return requestOf(kind, parameters);
  } catch {
    return undefined;
  }
}
