/**
 * Ends waits that are in a deadlock, where their acquires have asked for that: in the entry that has closed it. Of the waits of a deadlock that
 * have asked, the youngest ends. It is looked for only from what the entry has brought, a wait or a hold that others wait for, and only as
 * far as a named number of acquires: what is not found then goes on to wait.
 */

import type { DeadlockStep } from '@holdfast/protocol';

import type { LockTable } from '../locks/lock-table.ts';
import type { QueuedAcquire } from '../locks/lock.ts';
import { WaitGraph } from '../locks/wait-graph.ts';
import type { Output } from '../output.ts';
import { isReply, type CachedAcquire, type CachedReply } from '../sessions/answer-cost.ts';
import type { State } from '../state.ts';

interface Broken {
  readonly victim: QueuedAcquire;
  readonly steps: readonly DeadlockStep[];
}

/**
 * After whatever an entry has done to waits and holds, before it is answered. Returns the deadlock that `own` would have closed, for its answer;
 * undefined when it stays. Others that end are told so.
 */
export function breakDeadlocks(state: State, own?: CachedReply): readonly DeadlockStep[] | undefined {
  const { locks, index, stamp, events } = state;
  const taken = locks.takeFresh();
  // Nearly always: nobody waits who is to end so.
  if (taken.length === 0 || locks.aborting === 0) return undefined;
  const fresh = [...taken];
  let left = state.limits.maxDeadlockVisits;
  let ended = 0;
  let answer: readonly DeadlockStep[] | undefined;
  for (let at = 0; at < fresh.length && locks.aborting > 0;) {
    const acquire = fresh[at];
    if (acquire === undefined || acquire.gone) {
      at += 1;
      continue;
    }
    const graph = new WaitGraph(left);
    const broken = closedBy(state, acquire, graph);
    left = graph.left;
    if (left < 0) break;
    if (broken === undefined) {
      at += 1;
      continue;
    }
    const { victim, steps } = broken;
    const { session, lock, acquireIndex } = victim;
    ended += 1;
    if (victim === own) answer = steps;
    else {
      const reason = 'deadlock';
      events.push({ type: 'lost', session: session.id, lock: lock.name, acquireIndex, reason, deadlock: steps });
    }
    locks.remove(victim, index);
    locks.grantPending(index, stamp, events);
    fresh.push(...locks.takeFresh());
    // Others may go through what was looked at before.
    at = 0;
  }
  if (ended > 0) {
    withdrawContended(locks, events);
    if (own !== undefined && !isReply(own)) withdrawGranted(own, events);
  }
  if (ended > 0 || left < 0) events.push({ type: 'deadlocksSought', ended, gaveUp: left < 0 });
  return answer;
}

/** Where the first who waited has ended nobody waits. */
function withdrawContended(locks: Pick<LockTable, 'get'>, events: Output[]): void {
  for (let at = events.length - 1; at >= 0; at -= 1) {
    const event = events[at];
    if (event?.type === 'contended' && (locks.get(event.lock)?.waiters.size ?? 0) === 0) events.splice(at, 1);
  }
}

/** What came of the acquire of the entry itself is for its answer. */
function withdrawGranted({ acquireIndex }: CachedAcquire, events: Output[]): void {
  const place = events.findIndex((event) => event.type === 'granted' && event.acquireIndex === acquireIndex);
  if (place >= 0) events.splice(place, 1);
}

/** A deadlock that the acquire is in, of which somebody is to end. Undefined also where that was too much to look at. */
function closedBy({ nodes }: State, acquire: QueuedAcquire, graph: WaitGraph): Broken | undefined {
  const { holds, size } = acquire.siblings;
  // Who holds nothing is waited for by nobody, and who waits for nothing waits for nobody.
  if (holds === 0 || holds === size) return undefined;
  const reached = graph.from(acquire);
  if (reached?.has(acquire) !== true) return undefined;
  for (const victim of reached.aborting()) {
    // What leads back to the acquire is in a ring with it.
    const back = victim === acquire ? reached : graph.from(victim);
    if (back === undefined) return undefined;
    const steps = back.has(acquire) ? back.deadlock(nodes) : undefined;
    if (steps !== undefined) return { victim, steps };
  }
  return undefined;
}
