/**
 * Nobody waits or holds who is nobody's. A session may have as many waits and holds of a lock as it has acquires that are still to end:
 * open ones, holds that it knows of, and failed ones whose cancel is under way. So a failed acquire whose cancel has come to its end
 * has left nothing in the queue, and once all is quiet no failed one has. Where the end of a cancel was not recorded, it follows from
 * three writes that the session did next, one after another. Its requests take effect in order, but an answer may be lost with a connection
 * whose server has received a snapshot since: that request is sent again after later ones were answered, such as the first write. What
 * is sent from then on comes behind it. So when the second write was answered, the acquire had been, and its cancel has gone before the third.
 */

import type { EventOf } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { isLogEvent } from './log-order.ts';
import type { Verdict } from '../verdict.ts';

type Entered = EventOf<'enqueued'> | EventOf<'granted'>;
type Failure = Extract<HistoryEvent, { readonly type: 'fail' | 'info'; readonly f: 'acquire' | 'enter' }>;
type Done = EventOf<'ok'>;

/** After which a cancel has come to its end. */
const WRITES = 3;

/** A failed acquire, and the last write that its session has begun and done since, each after the one before. */
interface Cancelling {
  readonly failure: Failure;
  last: HistoryEvent;
  writes: number;
}

/** One session's acquires of one lock. */
interface Account {
  /** Waits and holds at the servers, by hold. */
  readonly live: Map<number, Entered>;
  /** Holds that the application knows of. */
  readonly known: Set<number>;
  readonly open: Set<number>;
  /** Calls that failed and are not known to be cancelled. */
  readonly failed: Map<number, Failure>;
}

class Ledger {
  readonly findings = new Findings('ghosts', ['failed', 'cancelled', 'entered']);
  readonly #accounts = new Map<string, Account>();
  /** By session, then by call. */
  readonly #cancelling = new Map<number, Map<number, Cancelling>>();
  readonly #failures = new Map<number, Failure>();
  readonly #invokes = new Map<number, number>();
  readonly #reported = new Set<Entered>();

  see(event: HistoryEvent): void {
    switch (event.type) {
      case 'enqueued':
      case 'granted':
        this.findings.count('entered');
        this.#account(event).live.set(event.hold, event);
        return;
      case 'removed':
        this.#account(event).live.delete(event.hold);
        return;
      case 'invoke':
        this.#invokes.set(event.call, event.seq);
        if (event.f === 'acquire' || event.f === 'enter') this.#account(event).open.add(event.call);
        return;
      case 'ok':
        if (event.f === 'acquire' || event.f === 'enter') this.#acquired(event);
        if (isWrite(event.f) && 'session' in event) this.#wrote(event, event.session ?? 0);
        return;
      case 'fail':
      case 'info':
        if (event.f === 'acquire' || event.f === 'enter') this.#failed(event);
        return;
      case 'cancelled':
        this.#cancelled(event);
        return;
      case 'session':
      case 'renewed':
      case 'believe':
      case 'lost':
      case 'watched':
      case 'shown':
      case 'fault':
      case 'phase':
      case 'downgraded':
      case 'ended-session':
      case 'configured':
      case 'kept':
      case 'kept-all':
      case 'leadership':
      case 'accepted':
        return;
    }
  }

  #acquired(event: Extract<HistoryEvent, { readonly type: 'ok'; readonly f: 'acquire' | 'enter' }>): void {
    const account = this.#account(event);
    account.open.delete(event.call);
    account.known.add(event.hold);
  }

  #failed(event: Failure): void {
    this.findings.count('failed');
    const account = this.#account(event);
    if (!account.open.delete(event.call)) return;
    account.failed.set(event.call, event);
    this.#failures.set(event.call, event);
    const ofSession = this.#cancelling.get(event.session) ?? new Map<number, Cancelling>();
    this.#cancelling.set(event.session, ofSession.set(event.call, { failure: event, last: event, writes: 0 }));
  }

  #wrote(event: Done, session: number): void {
    const invokedAt = this.#invokes.get(event.call) ?? 0;
    for (const cancelling of this.#cancelling.get(session)?.values() ?? []) {
      if (invokedAt <= cancelling.last.seq) continue;
      cancelling.last = event;
      cancelling.writes += 1;
      if (cancelling.writes === WRITES) this.#over(cancelling.failure, event);
    }
  }

  #cancelled(event: EventOf<'cancelled'>): void {
    const failure = this.#failures.get(event.call);
    if (failure !== undefined) this.#over(failure, event);
  }

  /** The cancel has come to its end, as `proof` shows. */
  #over(failure: Failure, proof: HistoryEvent): void {
    const account = this.#account(failure);
    if (!account.failed.delete(failure.call)) return;
    this.findings.count('cancelled');
    this.#cancelling.get(failure.session)?.delete(failure.call);
    const unowned = [...account.live.values()].filter((entered) => !account.known.has(entered.hold));
    if (unowned.length > account.open.size + account.failed.size) this.#report(unowned[0], failure, proof);
  }

  /** All is quiet: what failed has been cancelled, or went with its session. */
  end(last: HistoryEvent | undefined): void {
    for (const { live, known, open, failed } of this.#accounts.values()) {
      const unowned = [...live.values()].filter((entered) => !known.has(entered.hold));
      if (unowned.length > open.size) this.#report(unowned[0], [...failed.values()].at(-1), last);
    }
  }

  #report(ghost: Entered | undefined, failure: Failure | undefined, witness: HistoryEvent | undefined): void {
    if (ghost === undefined || this.#reported.has(ghost)) return;
    this.#reported.add(ghost);
    const does = ghost.type === 'granted' ? 'holds' : 'waits for';
    this.findings.broken(
      `session ${ghost.session} ${does} lock ${ghost.lock} (hold ${ghost.hold}) by an acquire that has failed and was to be cancelled`,
      ghost,
      failure,
      witness,
    );
  }

  #account({ lock, session }: { readonly lock: string; readonly session: number }): Account {
    const key = `${session} ${lock}`;
    let account = this.#accounts.get(key);
    if (account === undefined) {
      account = { live: new Map(), known: new Set(), open: new Set(), failed: new Map() };
      this.#accounts.set(key, account);
    }
    return account;
  }
}

/** An entry, and its end, may be the SDK's alone. */
const NO_WRITES: readonly Done['f'][] = ['read', 'list', 'status', 'enter', 'leave'];

function isWrite(f: Done['f']): boolean {
  return !NO_WRITES.includes(f);
}

export function checkGhosts(history: History): Verdict {
  const ledger = new Ledger();
  for (const event of history) ledger.see(event);
  const quiet = history.some((event) => event.type === 'phase' && event.phase === 'quiet');
  if (quiet) ledger.end(history.at(-1));
  const { findings } = ledger;
  const ended = findings.counted('cancelled') > 0 || (quiet && findings.counted('failed') > 0);
  return findings.verdict(ended && history.some(isLogEvent));
}
