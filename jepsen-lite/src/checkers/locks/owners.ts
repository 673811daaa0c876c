/**
 * By the log: only those have a lock at one index who may hold it together, what leaves a queue was in it, and a session that has ended has nothing from
 * that very entry on, and ends once.
 */

import type { EventOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { inTheWay, TO_READ, type Requester } from '../../models/holders.ts';
import { Findings } from '../findings.ts';
import { nameOf } from './holds.ts';
import { isLogEvent, logInOrder, type RecordedLogEvent } from './log-order.ts';
import { requested } from './requested.ts';
import type { Verdict } from '../verdict.ts';

type Owner = Requester & { readonly event: EventOf<'granted'> };
type Entered = EventOf<'enqueued'> | EventOf<'granted'>;

class Replay {
  /** `together`: grants beside others who hold the lock. */
  readonly findings = new Findings('owners', ['grants', 'together', 'downgrades', 'removals', 'endedSessions']);
  readonly #queuesRecorded: boolean;
  /** By lock. */
  readonly #owners = new Map<string, readonly Owner[]>();
  /** All waits and holds, by session, then by hold and lock. */
  readonly #live = new Map<number, Map<string, Entered>>();
  readonly #ended = new Map<number, EventOf<'ended-session'>>();

  constructor(queuesRecorded: boolean) {
    this.#queuesRecorded = queuesRecorded;
  }

  apply(event: RecordedLogEvent): void {
    switch (event.type) {
      case 'enqueued':
        this.#enter(event);
        return;
      case 'granted':
        this.#grant(event);
        return;
      case 'removed':
        this.#remove(event);
        return;
      case 'downgraded':
        this.#downgrade(event);
        return;
      case 'ended-session':
        this.#end(event);
    }
  }

  #enter(event: Entered): void {
    const { session, lock } = event;
    const ended = this.#ended.get(session);
    if (ended !== undefined) {
      this.findings.broken(`session ${session}, which has ended, was let into the queue of ${lock}`, ended, event);
    }
    const live = this.#live.get(session);
    if (live === undefined) this.#live.set(session, new Map([[nameOf(event), event]]));
    else live.set(nameOf(event), event);
  }

  #grant(event: EventOf<'granted'>): void {
    this.findings.count('grants');
    const { lock, hold, session } = event;
    const owners = this.#owners.get(lock) ?? [];
    if (owners.length > 0) this.findings.count('together');
    const next = requested(event, event.asked);
    const owner = inTheWay(owners, next)?.event;
    if (owner !== undefined) {
      this.findings.broken(`lock ${lock} was granted to hold ${hold} while hold ${owner.hold} had it`, owner, event);
    }
    const before = this.#live.get(session)?.get(nameOf(event));
    if (this.#queuesRecorded && before === undefined) {
      this.findings.broken(
        `lock ${lock} was granted to hold ${hold} of session ${session}, which did not wait for it`,
        event,
      );
    }
    this.#enter(event);
    this.#owners.set(lock, [...owners, next]);
  }

  #remove(event: EventOf<'removed'>): void {
    this.findings.count('removals');
    const { lock, hold, session } = event;
    const live = this.#live.get(session);
    const entered = live?.get(nameOf(event));
    if (entered === undefined && (this.#queuesRecorded || event.reason === 'released')) {
      this.findings.broken(`hold ${hold} of session ${session} left lock ${lock}, where it was not`, event);
    }
    live?.delete(nameOf(event));
    const left = this.#owners.get(lock)?.filter((owner) => owner.event.hold !== hold) ?? [];
    if (left.length > 0) this.#owners.set(lock, left);
    else this.#owners.delete(lock);
  }

  #downgrade(event: EventOf<'downgraded'>): void {
    this.findings.count('downgrades');
    const { lock, hold, session } = event;
    const owners = this.#owners.get(lock) ?? [];
    const owner = owners.find((each) => each.event.hold === hold);
    const request = owner?.request;
    const writes = request?.type === 'readWrite' && request.write;
    if (!writes) {
      this.findings.broken(
        `hold ${hold} of session ${session} was downgraded at lock ${lock}, which it did not hold to write`,
        owner?.event,
        event,
      );
    }
    this.#owners.set(
      lock,
      owners.map((each) => (each === owner ? { ...each, request: TO_READ } : each)),
    );
  }

  #end(event: EventOf<'ended-session'>): void {
    this.findings.count('endedSessions');
    const { session } = event;
    const before = this.#ended.get(session);
    if (before !== undefined) this.findings.broken(`session ${session} ended twice`, before, event);
    this.#ended.set(session, event);
    for (const entered of this.#live.get(session)?.values() ?? []) {
      const has = entered.type === 'granted' ? 'has' : 'waits for';
      this.findings.broken(`session ${session} has ended and still ${has} lock ${entered.lock}`, entered, event);
    }
  }
}

export function checkOwners(history: History): Verdict {
  const log = logInOrder(history);
  const replay = new Replay(log.some((event) => event.type === 'enqueued'));
  checkIndexes(history, replay.findings);
  for (const event of log) replay.apply(event);
  return replay.findings.verdict(log.length > 0);
}

/** The harness records each index when it is first applied, so indexes never fall. */
function checkIndexes(history: History, findings: Findings<'grants'>): void {
  let last: RecordedLogEvent | undefined;
  for (const event of history) {
    if (!isLogEvent(event)) continue;
    if (last !== undefined && event.index < last.index) {
      findings.broken(`entry ${event.index} was first applied after entry ${last.index}`, last, event);
    }
    last = event;
  }
}
