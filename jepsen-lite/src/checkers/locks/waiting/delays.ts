/**
 * When a hold is lost that has asked for a delay, by the end of its session or by an operator, nobody is granted its lock until that time has
 * passed, by a clock that keeps within the bound. Where its owner has given it back, the next who waits has it by the very same entry. No operator
 * of the harness ends a delay. That one ends at all is left to the checker of liveness, and to the run: somebody waits for ever otherwise.
 *
 * When a hold was lost the log says, where its times are exact. Elsewhere it was lost after its holder believed in it for the last time. Without a
 * log it must be certain, besides, that it was not released: a release counts as a sign of life, from which on the session has its full time. So
 * there was none where the client has heard of the end of its session less than that time after it believed.
 */

import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';

import { okCallsOf, type EventOf } from '../../../history/calls.ts';
import { delaysOfLocks } from '../../../history/locks/lock-delays.ts';
import type { History, HistoryEvent, RemovalReason } from '../../../history/history.ts';
import { Findings } from '../../findings.ts';
import { groupBy } from '../../group.ts';
import { nameOf, reportedHolds, type ReportedHold } from '../holds.ts';
import { logInOrder, logTimesAreExact, type RecordedLogEvent } from '../log-order.ts';
import type { CheckOptions, Verdict } from '../../verdict.ts';

/** `lost`: holds that delay their locks; `judged`: grants after that; `released`: grants by the entry that gave the lock back. */
type Count = 'lost' | 'judged' | 'released';

/** Whether a hold that ends so delays its lock. */
const DELAYS: Readonly<Record<RemovalReason, boolean>> = {
  expired: true,
  revoked: true,
  closed: false,
  released: false,
  cancelled: false,
  deadlock: false,
};

type OfQueue = EventOf<'enqueued' | 'granted' | 'removed'>;

interface Judge {
  readonly findings: Findings<Count>;
  /** What a delay of that lock must last at least. */
  readonly leastMs: (lock: string) => number;
  /** The event before which that hold cannot have been lost; undefined where nobody can tell. */
  readonly lostAfter: (removed: EventOf<'removed'>) => HistoryEvent | undefined;
}

/** One lock, as the log has it. */
class Replay {
  readonly #judge: Judge;
  readonly #waiting = new Map<number, EventOf<'enqueued'>>();
  #holder: EventOf<'granted'> | undefined;
  /** How the last hold ended, until the next grant. */
  #ended: EventOf<'removed'> | undefined;
  #reported = false;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  /** All that one entry did to the lock. */
  see(events: readonly OfQueue[]): void {
    for (const event of events) {
      if (event.type === 'enqueued') this.#waiting.set(event.hold, event);
      else if (event.type === 'granted') this.#grant(event);
      else this.#remove(event);
    }
    this.#checkFree(events);
  }

  #remove(event: EventOf<'removed'>): void {
    this.#waiting.delete(event.hold);
    if (this.#holder?.hold !== event.hold) return;
    this.#holder = undefined;
    this.#ended = event;
    if (DELAYS[event.reason]) this.#judge.findings.count('lost');
  }

  #grant(event: EventOf<'granted'>): void {
    const { findings } = this.#judge;
    const ended = this.#ended;
    this.#waiting.delete(event.hold);
    this.#holder = event;
    this.#ended = undefined;
    this.#reported = false;
    if (ended === undefined) return;
    if (DELAYS[ended.reason]) this.#judgeDelay(ended, event);
    else if (ended.index === event.index) findings.count('released');
  }

  #judgeDelay(lost: EventOf<'removed'>, granted: EventOf<'granted'>): void {
    const { findings, leastMs, lostAfter } = this.#judge;
    const after = lostAfter(lost);
    if (after === undefined) return;
    findings.count('judged');
    const { lock, hold, token } = granted;
    const tookMs = granted.timeMs - after.timeMs;
    if (tookMs >= leastMs(lock)) return;
    const since = after === lost ? 'was lost' : 'was believed in for the last time, and lost later';
    findings.broken(
      `lock ${lock} was granted to hold ${hold} (token ${token}) ${tookMs} ms after hold ${lost.hold} ${since} (${lost.reason}); it is delayed by ${Math.floor(leastMs(lock))} ms at least`,
      after,
      lost,
      granted,
    );
  }

  /** Somebody waits, and nothing stands in the way. */
  #checkFree(events: readonly OfQueue[]): void {
    const [first] = this.#waiting.values();
    const isDelayed = this.#ended !== undefined && DELAYS[this.#ended.reason];
    if (first === undefined || this.#holder !== undefined || isDelayed || this.#reported) return;
    this.#reported = true;
    const index = events[0]?.index;
    this.#judge.findings.broken(
      `behind entry ${index} hold ${first.hold} waits for lock ${first.lock}, which nobody holds and nobody has lost`,
      first,
      this.#ended,
      ...events,
    );
  }
}

export function checkDelays(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings<Count>('delays', ['lost', 'judged', 'released']);
  const rate = 1 + (options.clockRateError ?? MAX_CLOCK_RATE_ERROR);
  const delays = delaysOfLocks(history);
  const leastMs = (lock: string): number => (delays.get(lock) ?? 0) / rate;
  const log = logInOrder(history);
  if (log.length === 0) checkClients(history, { findings, leastMs, rate });
  const reported = new Map(reportedHolds(history).map((hold) => [nameOf(hold.ok), hold]));
  const exact = logTimesAreExact(history);
  const lostAfter = (removed: EventOf<'removed'>): HistoryEvent | undefined => {
    if (exact) return removed;
    // Whom an operator has taken it from believes until he hears of it.
    return removed.reason === 'expired' ? lastBelief(reported.get(nameOf(removed))) : undefined;
  };
  const ofDelayed = log.filter(isOfQueue).filter(({ lock }) => delays.has(lock));
  for (const ofLock of groupBy(ofDelayed, ({ lock }) => lock).values()) {
    const replay = new Replay({ findings, leastMs, lostAfter });
    for (const events of groupBy(ofLock, ({ index }) => index).values()) replay.see(events);
  }
  return findings.verdict(findings.counted('judged') + findings.counted('released') > 0);
}

function isOfQueue(event: RecordedLogEvent): event is OfQueue {
  return event.type !== 'ended-session' && event.type !== 'downgraded';
}

/** A hold is told under a lease that runs, which is as good as an answer of `assertHeld()`. */
function lastBelief(hold: ReportedHold | undefined): HistoryEvent | undefined {
  return hold?.believed ?? hold?.ok;
}

interface ClientsJudge extends Pick<Judge, 'findings' | 'leastMs'> {
  readonly rate: number;
}

/** By what clients saw alone. */
function checkClients(history: History, { findings, leastMs, rate }: ClientsJudge): void {
  const sessions = sessionsIn(history);
  const acquired = groupBy(okCallsOf(history, 'acquire'), ({ ok }) => ok.lock);
  for (const hold of reportedHolds(history)) {
    const { lock, session, token } = hold.ok;
    const { timeoutMs = 0, expired } = sessions.get(session) ?? {};
    const believed = lastBelief(hold);
    if (leastMs(lock) === 0 || believed === undefined || expired === undefined) continue;
    if (expired.timeMs >= believed.timeMs + timeoutMs / rate) continue;
    findings.count('lost');
    const next = acquired.get(lock)?.filter(({ ok }) => ok.token > token) ?? [];
    const [first] = next.toSorted((left, right) => left.ok.seq - right.ok.seq);
    if (first === undefined) continue;
    findings.count('judged');
    const tookMs = first.ok.timeMs - believed.timeMs;
    if (tookMs >= leastMs(lock)) continue;
    findings.broken(
      `session ${first.ok.session} had lock ${lock} (token ${first.ok.token}) ${tookMs} ms after session ${session}, which has expired, believed in it (token ${token}); it is delayed by ${Math.floor(leastMs(lock))} ms at least`,
      believed,
      expired,
      first.ok,
    );
  }
}

interface KnownSession {
  timeoutMs?: number;
  /** The first that its client knew of it. */
  expired?: HistoryEvent;
}

function sessionsIn(history: History): ReadonlyMap<number, KnownSession> {
  const sessions = new Map<number, KnownSession>();
  const known = (session: number): KnownSession => {
    const before = sessions.get(session) ?? {};
    sessions.set(session, before);
    return before;
  };
  for (const event of history) {
    if (event.type === 'session' && event.event === 'connected') {
      if (event.timeoutMs !== undefined) known(event.session).timeoutMs = event.timeoutMs;
    } else if (event.type === 'session' && event.event === 'expired') {
      known(event.session).expired ??= event;
    } else if ((event.type === 'fail' || event.type === 'info') && event.code === 'SESSION_EXPIRED') {
      if ('session' in event && event.session !== undefined) known(event.session).expired ??= event;
    }
  }
  return sessions;
}
