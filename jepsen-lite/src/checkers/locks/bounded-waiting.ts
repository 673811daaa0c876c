/**
 * On the healed system nobody waits for ever. The queue is fair, so whoever waits has to wait for those before it, and for no one else:
 * once the last of them has left the queue, its acquire is answered within a bound. That holds for each of those before it, too. So a
 * wait takes no longer than their holds, and the bound once for each of them.
 *
 * A session is judged from the first answer on to a call that it made on the healed system, which shows that it is alive and connected;
 * until it ends, or has ended.
 */

import { callsOf, type EventOf } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { logInOrder } from './log-order.ts';
import type { Verdict } from '../verdict.ts';

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
  for (const waits of groupBy(waitsOf(history), ({ enqueued }) => enqueued.lock).values()) {
    let left: HistoryEvent | undefined;
    let everybodyHasLeft = true;
    for (const wait of waits) {
      findings.count('waits');
      // Behind one that has not left nobody can be granted.
      if (everybodyHasLeft) judge(wait, { left, aliveSinceMs: alive.get(wait.enqueued.session), history, findings });
      const { removed } = wait;
      if (removed === undefined) everybodyHasLeft = false;
      else if (left === undefined || removed.timeMs > left.timeMs) left = removed;
    }
  }
  return findings.verdict(findings.counted('judged') > 0);
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
    const { session } = invoke;
    if (session === undefined) continue;
    since.set(session, Math.min(since.get(session) ?? Infinity, completion.timeMs));
  }
  return since;
}

/** In the order of the queues. */
function waitsOf(history: History): Wait[] {
  const waits = new Map<number, Wait>();
  for (const event of logInOrder(history)) {
    if (event.type === 'enqueued') {
      const calls = { invoke: undefined, ok: undefined };
      waits.set(event.hold, { enqueued: event, granted: undefined, removed: undefined, ...calls });
    } else if (event.type !== 'ended-session') {
      const wait = waits.get(event.hold);
      if (wait === undefined) continue;
      if (event.type === 'granted') wait.granted ??= event;
      else wait.removed ??= event;
    }
  }
  for (const { invoke, completion } of callsOf(history, 'acquire')) {
    if (completion?.type !== 'ok') continue;
    const wait = waits.get(completion.hold);
    if (wait !== undefined) Object.assign(wait, { invoke, ok: completion });
  }
  return [...waits.values()];
}
