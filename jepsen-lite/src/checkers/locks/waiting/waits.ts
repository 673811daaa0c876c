/**
 * Nobody who waits is passed over or forgotten. A wait ends by its grant, with its session, or because its caller has given up: no session
 * has more waits taken out of a queue than acquires that have failed. And of two acquires that were granted, the one that was earlier in
 * the queue has the lower token.
 */

import { okCallsOf, type EventOf, type OkCall } from '../../../history/calls.ts';
import type { History, HistoryEvent } from '../../../history/history.ts';
import { Findings } from '../../findings.ts';
import { groupBy } from '../../group.ts';
import type { Verdict } from '../../verdict.ts';

/** `served`: waits that were granted later than they began. */
type Count = 'waits' | 'served' | 'withdrawn' | 'reported';

/** One session's acquires of one lock. */
interface Account {
  failed: number;
  withdrawn: number;
}

class Queues {
  readonly findings = new Findings<Count>('waits', ['waits', 'served', 'withdrawn', 'reported']);
  /** Those who wait, by lock and hold. */
  readonly #waiting = new Map<string, EventOf<'enqueued'>>();
  readonly #accounts = new Map<string, Account>();

  see(event: HistoryEvent): void {
    if (event.type === 'enqueued') {
      this.findings.count('waits');
      this.#waiting.set(`${event.hold} ${event.lock}`, event);
    } else if (event.type === 'granted') {
      const waited = this.#waiting.get(`${event.hold} ${event.lock}`);
      if (waited !== undefined && waited.index < event.index) this.findings.count('served');
      this.#waiting.delete(`${event.hold} ${event.lock}`);
    } else if (event.type === 'removed') {
      this.#remove(event);
    } else if ((event.type === 'fail' || event.type === 'info') && (event.f === 'acquire' || event.f === 'enter')) {
      this.#account(event).failed += 1;
    }
  }

  #remove(event: EventOf<'removed'>): void {
    const { lock, session, hold, reason } = event;
    const waited = this.#waiting.get(`${hold} ${lock}`);
    this.#waiting.delete(`${hold} ${lock}`);
    if (waited === undefined || (reason !== 'cancelled' && reason !== 'released')) return;
    const account = this.#account(event);
    account.withdrawn += 1;
    this.findings.count('withdrawn');
    if (account.withdrawn <= account.failed) return;
    this.findings.broken(
      `session ${session} waited for lock ${lock} (hold ${hold}) and was taken out of its queue, though it had not given up`,
      waited,
      event,
    );
  }

  #account({ lock, session }: { readonly lock: string; readonly session: number }): Account {
    const key = `${session} ${lock}`;
    const known = this.#accounts.get(key) ?? { failed: 0, withdrawn: 0 };
    this.#accounts.set(key, known);
    return known;
  }
}

export function checkWaits(history: History): Verdict {
  const queues = new Queues();
  for (const event of history) queues.see(event);
  const { findings } = queues;
  const reported = okCallsOf(history, 'acquire', 'enter');
  findings.count('reported', reported.length);
  for (const [lock, ofLock] of groupBy(reported, ({ ok }) => ok.lock)) checkTurns(lock, ofLock, findings);
  return findings.verdict(findings.counted('reported') > 0);
}

/** Whoever was earlier in the queue was granted earlier. */
function checkTurns(lock: string, calls: readonly OkCall<'acquire' | 'enter'>[], findings: Findings<Count>): void {
  const inTurn = calls.toSorted((left, right) => left.ok.hold - right.ok.hold);
  let latest: OkCall<'acquire' | 'enter'> | undefined;
  for (const call of inTurn) {
    if (latest !== undefined && call.ok.token < latest.ok.token) {
      findings.broken(
        `lock ${lock}: hold ${call.ok.hold} was granted (token ${call.ok.token}) before hold ${latest.ok.hold} (token ${latest.ok.token}), which was earlier in the queue`,
        latest.ok,
        call.ok,
      );
    }
    if (latest === undefined || call.ok.token > latest.ok.token) latest = call;
  }
}
