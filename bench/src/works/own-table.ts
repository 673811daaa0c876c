/** What is measured of locks of every kind, elections and the SDK: rows of our own system, and what is asked of each. */

import type { LockKindName } from '../generator/clients/sdk-lock-kinds.ts';
import type { SystemName } from '../generator/systems.ts';
import type { OwnTarget, Target } from './table.ts';

export const LOCK_KIND_SESSIONS = 64;
const AS_EXCLUSIVE = { must: 1.15, goal: 1.05 };
const EXCLUSIVE = kindName('exclusive lock');

export interface LockKindRow {
  readonly kind: LockKindName;
  readonly work: string;
  readonly target?: OwnTarget;
}

function kindName(what: string): string {
  return `SDK cycle, ${LOCK_KIND_SESSIONS} sessions: ${what}`;
}

function kindRow(kind: LockKindName, what: string, target: OwnTarget): LockKindRow {
  return { kind, work: kindName(what), target: { ...target, baseline: EXCLUSIVE } };
}

export const LOCK_KIND_ROWS: readonly LockKindRow[] = [
  { kind: 'exclusive-locks', work: EXCLUSIVE },
  kindRow('read-locks', 'read lock', AS_EXCLUSIVE),
  kindRow('shared-read-locks', 'read lock that all hold', AS_EXCLUSIVE),
  kindRow('semaphores', 'a permit of a semaphore', AS_EXCLUSIVE),
  kindRow('shared-semaphores', 'a permit of a semaphore that all use', AS_EXCLUSIVE),
  kindRow('reentrant-locks', 'reentrant lock, entered once', AS_EXCLUSIVE),
  kindRow('re-entries', 'reentrant lock, entered again while held', AS_EXCLUSIVE),
  kindRow('two-locks', 'two locks at once', { must: 1.4, goal: 1.2 }),
];

/** Beside the client libraries of the peers. */
export interface ClientLockRow {
  readonly kind: 'exclusive-locks' | 'read-locks';
  readonly work: string;
  readonly target?: Target;
  /** Whose own client has the recipe. */
  readonly native: readonly SystemName[];
}

export const CLIENT_LOCK_ROWS: readonly ClientLockRow[] = [
  {
    kind: 'exclusive-locks',
    work: `exclusive lock through clients, ${LOCK_KIND_SESSIONS} sessions`,
    target: { must: 2.2, goal: 3 },
    native: ['zookeeper', 'etcd'],
  },
  {
    kind: 'read-locks',
    work: `read lock through clients, ${LOCK_KIND_SESSIONS} sessions`,
    native: ['zookeeper'],
  },
];

/** Of `sdk`. */
export const SDK_SESSIONS = [1, 16, 64, 256] as const;

export interface SdkRow {
  /** What clients and servers together take of the processor, on which a machine's cycles depend. */
  readonly work: string;
  /** What the process of the clients takes of it. */
  readonly clientWork: string;
  readonly route: 'raw' | 'client';
  readonly target?: OwnTarget;
}

export function sdkRows(sessions: number): readonly [SdkRow, SdkRow] {
  const amount = `${sessions} ${sessions === 1 ? 'session' : 'sessions'}`;
  const works = (by: string): Pick<SdkRow, 'work' | 'clientWork'> => ({
    work: `processor time of a cycle, ${amount}: ${by}`,
    clientWork: `of that the client's, ${amount}: ${by}`,
  });
  const raw = works('bare frames');
  return [
    { ...raw, route: 'raw' },
    { ...works('the SDK'), route: 'client', target: { must: 1.15, goal: 1.07, baseline: raw.work } },
  ];
}

/** In milliseconds: there is no peer. */
export const ELECTIONS_ROW = {
  work: "election: end of the killed winner's session to the next term",
  unit: 'ms',
  target: { must: 20, goal: 10 },
} as const;

export const FEW_WAITERS = 10;

export interface WaitersRow {
  readonly work: string;
  readonly waiters: number;
  readonly target?: OwnTarget;
}

export function waitersRows(many: number): readonly [WaitersRow, WaitersRow] {
  const work = (waiters: number): string => `hand-over of one lock, ${waiters.toLocaleString('en')} waiters`;
  const baseline = work(FEW_WAITERS);
  return [
    { work: baseline, waiters: FEW_WAITERS },
    { work: work(many), waiters: many, target: { must: 2, goal: 1.3, baseline } },
  ];
}
