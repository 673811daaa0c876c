/**
 * On the healed system nobody waits for ever. The queue is fair, so whoever waits has to wait for those before it, and for no one else:
 * once the last of them has left the queue, its acquire is answered within a bound. That holds for each of those before it, too. So a
 * wait takes no longer than their holds, and the bound once for each of them. Whoever may hold a lock beside others need not wait for
 * them, and is judged only where it does. An acquire of several locks waits for those before it at each of them. At a lock that is delayed
 * when a hold is lost one waits for that, too: it is not judged.
 *
 * A session is judged from the first answer on to a call that it made on the healed system, which shows that it is alive and connected;
 * until it ends, or has ended.
 */

import { callsOf, type EventOf } from '../../../history/calls.ts';
import type { History, HistoryEvent } from '../../../history/history.ts';
import { delaysOfLocks } from '../../../history/locks/lock-delays.ts';
import { Findings } from '../../findings.ts';
import { groupBy } from '../../group.ts';
import { nameOf } from '../holds.ts';
import { logInOrder } from '../log-order.ts';
import type { Verdict } from '../../verdict.ts';

/** As every client must work again within it: a leader may be stopped meanwhile, and its clients find the next one. */
const ANSWERED_MS = 10_000;

interface Wait {
  readonly enqueued: EventOf<'enqueued'>;
  granted: EventOf<'granted'> | undefined;
  removed: EventOf<'removed'> | undefined;
  /** Of its caller. */
  invoke: HistoryEvent | undefined;
  ok: HistoryEvent | undefined;
}

export function checkBoundedWaiting(history: History): Verdict {
  const findings = new Findings('bounded-waiting', ['waits', 'judged', 'behindOthers', 'longestMs']);
  const alive = aliveSince(history);
  const turns = turnsOf(waitsOf(history));
  findings.count('waits', turns.length);
  for (const ofHold of groupBy(turns, ({ wait }) => wait.enqueued.hold).values()) {
    const [first] = ofHold;
    // Behind one that has not left nobody can be granted.
    if (first === undefined || !ofHold.every(({ everybodyHasLeft }) => everybodyHasLeft)) continue;
    const left = ofHold.reduce<HistoryEvent | undefined>((last, turn) => later(last, turn.left), undefined);
    judge(first.wait, { left, aliveSinceMs: alive.get(first.wait.enqueued.session), history, findings });
  }
  return findings.verdict(findings.counted('judged') > 0);
}

/** One wait in the queue of one lock. */
interface Turn {
  readonly wait: Wait;
  /** Whoever was the last before it to leave. */
  readonly left: HistoryEvent | undefined;
  readonly everybodyHasLeft: boolean;
}

/** In the order of each queue. */
function turnsOf(waits: readonly Wait[]): Turn[] {
  const turns: Turn[] = [];
  for (const ofLock of groupBy(waits, ({ enqueued }) => enqueued.lock).values()) {
    let left: HistoryEvent | undefined;
    let everybodyHasLeft = true;
    for (const wait of ofLock) {
      turns.push({ wait, left, everybodyHasLeft });
      if (wait.removed === undefined) everybodyHasLeft = false;
      left = later(left, wait.removed);
    }
  }
  return turns;
}

function later(left: HistoryEvent | undefined, right: HistoryEvent | undefined): HistoryEvent | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return right.timeMs > left.timeMs ? right : left;
}

interface Before {
  /** Whoever was the last before it to leave the queue. */
  readonly left: HistoryEvent | undefined;
  readonly aliveSinceMs: number | undefined;
  readonly history: History;
  readonly findings: Findings<'waits' | 'judged' | 'behindOthers' | 'longestMs'>;
}

function judge(wait: Wait, { left, aliveSinceMs, history, findings }: Before): void {
  const { enqueued, removed } = wait;
  // Its caller may not have been alive until its end.
  if (aliveSinceMs === undefined || (wait.ok === undefined && endsWithItsSession(removed))) return;
  const end = wait.ok ?? removed ?? history.at(-1);
  const begunMs = (wait.invoke ?? enqueued).timeMs;
  const dueSinceMs = Math.max(begunMs, left?.timeMs ?? 0, aliveSinceMs);
  if (end === undefined || end.timeMs < dueSinceMs) return;
  findings.count('judged');
  if ((left?.timeMs ?? 0) > begunMs) findings.count('behindOthers');
  const tookMs = Math.ceil(end.timeMs - dueSinceMs);
  findings.count('longestMs', Math.max(0, tookMs - findings.counted('longestMs')));
  if (tookMs <= ANSWERED_MS) return;
  const { lock, session, hold } = enqueued;
  const what = wait.ok === undefined ? 'was not answered' : 'was answered only';
  findings.broken(
    `session ${session} waited for lock ${lock} (hold ${hold}) on the healed system, with nobody before it, and ${what} after ${tookMs} ms; ${ANSWERED_MS} are the bound`,
    left,
    wait.invoke ?? enqueued,
    wait.granted,
    end,
  );
}

/** By expiry, its client, or an operator. */
function endsWithItsSession(removed: EventOf<'removed'> | undefined): boolean {
  return removed !== undefined && removed.reason !== 'cancelled' && removed.reason !== 'released';
}

/** When each session was first answered what it had asked on the healed system. */
function aliveSince(history: History): ReadonlyMap<number, number> {
  const since = new Map<number, number>();
  const healed = history.find((event) => event.type === 'phase' && event.phase === 'healed');
  if (healed === undefined) return since;
  for (const { invoke, completion } of callsOf(history)) {
    if (completion?.type !== 'ok' || invoke.seq < healed.seq || !('session' in invoke)) continue;
    // Nobody may have been asked.
    if (invoke.f === 'enter' || invoke.f === 'leave') continue;
    const { session } = invoke;
    if (session === undefined) continue;
    since.set(session, Math.min(since.get(session) ?? Infinity, completion.timeMs));
  }
  return since;
}

/** In the order of the queues. */
function waitsOf(history: History): Wait[] {
  const waits = new Map<string, Wait>();
  for (const event of logInOrder(history)) {
    if (event.type === 'enqueued') {
      const calls = { invoke: undefined, ok: undefined };
      waits.set(nameOf(event), { enqueued: event, granted: undefined, removed: undefined, ...calls });
    } else if (event.type === 'granted' || event.type === 'removed') {
      const wait = waits.get(nameOf(event));
      if (wait === undefined) continue;
      if (event.type === 'granted') wait.granted ??= event;
      else wait.removed ??= event;
    }
  }
  for (const { invoke, completion } of callsOf(history, 'acquire', 'enter')) {
    if (completion?.type !== 'ok') continue;
    const wait = waits.get(nameOf(completion));
    // Of those who entered it together, the first to be answered.
    const isFirst = wait?.ok === undefined || completion.seq < wait.ok.seq;
    if (wait !== undefined && isFirst) Object.assign(wait, { invoke, ok: completion });
  }
  const delays = delaysOfLocks(history);
  return [...waits.values()].filter(({ enqueued }) => !delays.has(enqueued.lock));
}
