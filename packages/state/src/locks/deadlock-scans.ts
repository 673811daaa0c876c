/**
 * Looks for waits that are in deadlocks: at the waits of all sessions that hold something, in slices between which entries go on being applied. Nobody
 * keeps a list of deadlocks, and nothing of it is replicated.
 */

import type { Query } from '@holdfast/protocol';

import type { StateLimits } from '../limits.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { Session } from '../sessions/session.ts';
import type { LockTable } from './lock-table.ts';
import type { QueuedAcquire } from './lock.ts';
import { WaitGraph } from './wait-graph.ts';

/** Acquires and sessions that are looked at at once: about a millisecond. */
const SCAN_SLICE_VISITS = 8_192;
/** Whoever asks for another listing waits. */
const MAX_SCANS = 4;
/** One that was not asked for while others were so often is given up. */
const MAX_ASKS_BETWEEN = 1_000;

type DeadlocksQuery = Extract<Query, { type: 'deadlocks' }>;

/** What it looks at. */
interface Scanned {
  readonly sessions: Pick<SessionTable, 'values'>;
  readonly locks: Pick<LockTable, 'acquiresOf'>;
}

/** The listings under way. */
export class DeadlockScans {
  readonly #scanned: Scanned;
  readonly #scans = new Map<string, Scan>();
  #asks = 0;

  constructor(scanned: Scanned) {
    this.#scanned = scanned;
  }

  /** A slice of the work; true when that is done, and the query must be answered before anything else. False, too, while there are too many others. */
  prepare(query: DeadlocksQuery, { maxDeadlockVisits }: StateLimits): boolean {
    this.#asks += 1;
    const scan = this.#scans.get(keyOf(query)) ?? this.#begin(query);
    if (scan === undefined) return false;
    scan.askedAt = this.#asks;
    return scan.look(maxDeadlockVisits, SCAN_SLICE_VISITS);
  }

  /** Waits that were in a deadlock when they were looked at, and others; what is left of the work is done at once. It is over with that. */
  take(query: DeadlocksQuery, { maxDeadlockVisits }: StateLimits): Pick<Scan, 'found' | 'skipped'> {
    const scan = this.#scans.get(keyOf(query)) ?? new Scan(this.#scanned, query);
    this.#scans.delete(keyOf(query));
    scan.look(maxDeadlockVisits, Infinity);
    return scan;
  }

  #begin(query: DeadlocksQuery): Scan | undefined {
    if (this.#scans.size >= MAX_SCANS) {
      for (const [key, { askedAt }] of this.#scans)
        if (this.#asks - askedAt > MAX_ASKS_BETWEEN) this.#scans.delete(key);
      if (this.#scans.size >= MAX_SCANS) return undefined;
    }
    const scan = new Scan(this.#scanned, query);
    this.#scans.set(keyOf(query), scan);
    return scan;
  }
}

class Scan {
  readonly #locks: Scanned['locks'];
  readonly #after: number;
  /** Those that are still to be looked at. */
  readonly #sessions: Iterator<Session>;
  /** Of the session that is looked at, the next last. */
  #waits: QueuedAcquire[] = [];
  #ended = false;
  /** In no particular order. */
  readonly found: QueuedAcquire[] = [];
  /** Waits that were not looked at to their end. */
  skipped = 0;
  askedAt = 0;

  constructor({ sessions, locks }: Scanned, { after }: DeadlocksQuery) {
    this.#locks = locks;
    this.#after = after;
    this.#sessions = sessions.values()[Symbol.iterator]();
  }

  /** True at the end. @param maxVisits for one wait @param slice for all that are looked at now */
  look(maxVisits: number, slice: number): boolean {
    for (let left = slice; left > 0 && !this.#ended;) {
      const wait = this.#waits.pop();
      left -= 1;
      if (wait === undefined) left -= this.#nextSession();
      else if (wait.token === 0 && !wait.gone) left -= this.#lookAt(wait, maxVisits);
    }
    return this.#ended;
  }

  /** Returns how many acquires that was. */
  #lookAt(wait: QueuedAcquire, maxVisits: number): number {
    const graph = new WaitGraph(maxVisits);
    const reached = graph.ringFrom(wait, 'older');
    if (reached === undefined) this.skipped += 1;
    else if (reached.has(wait)) this.found.push(wait);
    return maxVisits - graph.left;
  }

  #nextSession(): number {
    const next = this.#sessions.next();
    if (next.done === true) {
      this.#ended = true;
      return 0;
    }
    const acquires = this.#locks.acquiresOf(next.value);
    // Nobody waits for one that holds nothing.
    if (acquires.holds === 0 || acquires.holds === acquires.size) return 0;
    this.#waits = acquires.inOrder().filter(({ token, acquireIndex }) => token === 0 && acquireIndex > this.#after);
    return acquires.size;
  }
}

function keyOf({ after, limit }: DeadlocksQuery): string {
  return `${after} ${limit}`;
}
