/** What an acquire asks for: one lock, or several at once, of which kinds; and how its hold is held then. */

import {
  acquireCommand,
  acquireSeveralCommand,
  acquireWithCommand,
  LockKind,
  lockKinds,
  MalformedError,
  MUTEX,
  pack,
  unpackTuple,
  type Command,
  type LockRequest,
  type Packable,
} from '@holdfast/protocol';

/**
 * How a lock is held. `exclusive`: alone. `write`: alone, and others may read when it is not. `read`: beside others who read. `shared`: some
 * permits of a semaphore. Of several locks it is what all of them have in common; otherwise `exclusive` where each is held alone, and `shared`
 * where one is not.
 *
 * @example
 * if (held.mode === 'write') await held.downgrade();
 */
export type HoldMode = 'exclusive' | 'write' | 'read' | 'shared';

interface WantedLock {
  readonly lock: string;
  readonly asked: LockRequest;
}

type WantedLocks = readonly [WantedLock, ...WantedLock[]];

/** All of these locks or none, under one acquire index and one token. */
export interface Wanted {
  /** The first of them. */
  readonly lock: string;
  /** All of them, in the order in which they are asked for. */
  readonly locks: readonly string[];
  readonly requests: WantedLocks;
  /** Those of them that others may hold beside this one. */
  readonly shared: readonly string[];
  readonly mode: HoldMode;
  /** Of one semaphore; undefined of anything else. */
  readonly permits: number | undefined;
  /** How long the next grant waits when the hold is lost. */
  readonly lockDelayMs: number;
  /** It ends when it waits and is in a deadlock. */
  readonly abortInDeadlock: boolean;
}

export function wantedOf(...requests: WantedLocks): Wanted {
  const [{ lock, asked }] = requests;
  const permits = requests.length === 1 && asked.type === 'semaphore' ? asked.permits : undefined;
  const locks = requests.map((each) => each.lock);
  const shared = requests.filter((each) => isShared(each.asked)).map((each) => each.lock);
  return { lock, locks, requests, shared, mode: modeOf(requests), permits, lockDelayMs: 0, abortInDeadlock: false };
}

/** Whether others may hold a lock beside one who holds it by that. */
export function isShared(asked: LockRequest): boolean {
  return asked.type === 'semaphore' || (asked.type === 'readWrite' && !asked.write);
}

/** `wait` false: leaves nothing when one of them is not free. */
export function commandFor({ requests, lockDelayMs, abortInDeadlock }: Wanted, wait: boolean): Command {
  if (lockDelayMs > 0 || abortInDeadlock) return acquireWithCommand(requests, wait, { lockDelayMs, abortInDeadlock });
  const [{ lock, asked }] = requests;
  return requests.length === 1 ? acquireCommand(lock, asked, wait) : acquireSeveralCommand(requests, wait);
}

/** What an ensemble that cannot grant it lacks, in the plural, and from which state version on it has that. */
export function describeWanted(wanted: Wanted): { readonly what: string; readonly since: number } {
  const { requests, lockDelayMs, abortInDeadlock } = wanted;
  if (lockDelayMs > 0) return { what: 'delays of locks', since: 5 };
  if (abortInDeadlock) return { what: 'acquires that end in a deadlock', since: 5 };
  const what = requests.length === 1 ? KIND_TEXT[requests[0].asked.type] : 'acquires of several locks at once';
  return { what, since: 4 };
}

const KIND_TEXT: Readonly<Record<LockRequest['type'], string>> = {
  mutex: 'locks',
  readWrite: 'read-write locks',
  semaphore: 'semaphores',
};

/** What a place in a queue was asked for with; undefined for what only a later version knows. */
export function requestOf(kind: number | undefined, parameters: readonly Packable[] = []): LockRequest | undefined {
  const name = lockKinds.nameOf(kind ?? LockKind.mutex);
  if (name === undefined) return undefined;
  if (name === 'mutex') return MUTEX;
  try {
    return lockKinds.readFields(name, unpackTuple(pack(parameters), 'a request for a lock'));
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}

function modeOf(requests: WantedLocks): HoldMode {
  const mode = modeOfOne(requests[0].asked);
  if (requests.length === 1) return mode;
  const modes = requests.map(({ asked }) => modeOfOne(asked));
  if (modes.every((each) => each === mode)) return mode;
  return modes.includes('read') || modes.includes('shared') ? 'shared' : 'exclusive';
}

function modeOfOne(asked: LockRequest): HoldMode {
  switch (asked.type) {
    case 'mutex':
      return 'exclusive';
    case 'readWrite':
      return asked.write ? 'write' : 'read';
    case 'semaphore':
      return 'shared';
  }
}
