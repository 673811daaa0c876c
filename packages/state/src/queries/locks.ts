/** verify, locks and lock: who holds, under which token, and who waits. */

import {
  LockKind,
  MAX_PAGE_ENTRIES,
  type Answer,
  type LockSummary,
  type Packable,
  type Query,
  type QueueEntry,
} from '@holdfast/protocol';

import { lockProblem } from '../locks/lock-name.ts';
import type { Lock } from '../locks/lock.ts';
import type { QueuedAcquire } from '../locks/lock.ts';
import { invalidLockReply } from '../replies.ts';
import type { State } from '../state.ts';
import { pageSize } from './page.ts';

const NO_PARAMETERS: readonly Packable[] = [];

/** Holders in one line of a listing; `lock` shows a longer list. */
const MAX_HOLDERS_IN_SUMMARY = 1;

export function verify(state: State, name: string, acquireIndex: number): Answer {
  const problem = lockProblem(name);
  if (problem !== undefined) return invalidLockReply(name, problem);
  for (const holder of state.locks.get(name)?.holders ?? []) {
    if (holder.acquireIndex === acquireIndex) return { type: 'verify', token: holder.token };
  }
  return { type: 'verify', token: 0 };
}

export function locks(state: State, query: Extract<Query, { type: 'locks' }>): Answer {
  const { prefix, after } = query;
  const { keys, more } = state.locks.names.page(after, prefix, pageSize(query.limit), (name) =>
    name.startsWith(prefix),
  );
  const listed = keys.flatMap((name) => state.locks.get(name) ?? []);
  return { type: 'locks', locks: listed.map((lock) => summary(state, lock)), more };
}

export function lockQueue(state: State, name: string): Answer {
  const problem = lockProblem(name);
  if (problem !== undefined) return invalidLockReply(name, problem);
  const lock = state.locks.get(name);
  if (lock === undefined) return { type: 'lock', queue: [], truncated: false, kind: LockKind.mutex };
  const queue: QueueEntry[] = [];
  let truncated = false;
  for (const list of [lock.holders, lock.waiters]) {
    for (const acquire of list) {
      truncated = queue.length === MAX_PAGE_ENTRIES;
      if (truncated) break;
      queue.push(queueEntry(state, acquire));
    }
  }
  return { type: 'lock', queue, truncated, kind: lock.kind.number, ...delayOf(lock) };
}

function summary(state: State, lock: Lock): LockSummary {
  const holders: QueueEntry[] = [];
  for (const holder of lock.holders) {
    if (holders.length === MAX_HOLDERS_IN_SUMMARY) break;
    holders.push(queueEntry(state, holder));
  }
  return { lock: lock.name, holders, waiters: lock.waiters.size, kind: lock.kind.number, ...delayOf(lock) };
}

function delayOf({ delay }: Lock): Pick<LockSummary, 'delay'> {
  return delay === undefined ? {} : { delay };
}

export function queueEntry(state: State, acquire: QueuedAcquire): QueueEntry {
  const { session, token, acquireIndex, node, grantedAt, lock, request, options } = acquire;
  const { lockDelayMs, abortInDeadlock } = options;
  const { releaseRequest } = acquire.lead;
  return {
    session: session.id,
    label: session.label,
    token,
    acquireIndex,
    since: state.nodes.ctime(node),
    grantedAt,
    parameters: request === lock.kind.plain ? NO_PARAMETERS : lock.kind.write(request),
    ...(lockDelayMs === 0 ? {} : { lockDelayMs }),
    ...(abortInDeadlock ? { abortInDeadlock } : {}),
    ...(releaseRequest === undefined ? {} : { releaseRequest }),
  };
}
