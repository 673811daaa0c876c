/** What an acquire asks for: one lock, or several at once, of which kinds; and how its hold is held then. */

import {
  acquireCommand,
  acquireSeveralCommand,
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
  readonly mode: HoldMode;
  /** Of one semaphore; undefined of anything else. */
  readonly permits: number | undefined;
}

export function wantedOf(...requests: WantedLocks): Wanted {
  const [{ lock, asked }] = requests;
  const permits = requests.length === 1 && asked.type === 'semaphore' ? asked.permits : undefined;
  return { lock, locks: requests.map((each) => each.lock), requests, mode: modeOf(requests), permits };
}

/** `wait` false: leaves nothing when one of them is not free. */
export function commandFor({ requests }: Wanted, wait: boolean): Command {
  const [{ lock, asked }] = requests;
  return requests.length === 1 ? acquireCommand(lock, asked, wait) : acquireSeveralCommand(requests, wait);
}

/** What an ensemble that cannot grant it lacks, in the plural. */
export function describeWanted({ requests }: Wanted): string {
  return requests.length === 1 ? KIND_TEXT[requests[0].asked.type] : 'acquires of several locks at once';
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
