/**
 * Closed loops: every loop does its operation again as soon as it is answered. They can be stopped, when each stands still after
 * its operation, and started again, so that systems are measured by turns with warm sessions.
 */

import { Latencies } from './latencies.ts';
import type { LockSession, RawSession } from './raw-session.ts';

export const LOOPED_WORKS = [
  'cycles',
  'hand-overs',
  'writes',
  'transactions',
  'linearizable-reads',
  'session-reads',
] as const;
export type LoopedWork = (typeof LOOPED_WORKS)[number];

/** Nodes that one transaction sets. Native loads have the same number. */
export const NODES_A_TRANSACTION = 10;

/** What a session's loops work on. `nodes`: as many as the work needs, all its own. */
export interface LoopTarget {
  readonly lock: string;
  readonly nodes: readonly string[];
  readonly data: Uint8Array;
  readonly outstanding: number;
}

export interface WindowResult {
  /** Within the window. */
  readonly operations: number;
  /** And all from the first of the ramp to the last that was still under way. */
  readonly allOperations: number;
  readonly seconds: number;
  /** Of acquires for cycles and hand-overs, of whole operations for the rest; null when there were none. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Does one operation; `timed` is called with when the timed part began. */
type Operation = (timed: (begun: number) => void, done: () => void) => void;

export class ClosedLoops {
  readonly #latencies = new Latencies();
  readonly #operations: readonly Operation[];
  #running = false;
  #atWork = 0;
  #completed = 0;
  #idle: (() => void) | undefined;

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  async window(rampMs: number, windowMs: number): Promise<WindowResult> {
    const beforeAll = this.#completed;
    this.#running = true;
    for (const operation of this.#operations) this.#loop(operation);
    await delay(rampMs);
    this.#latencies.clear();
    const before = this.#completed;
    const begun = performance.now();
    await delay(windowMs);
    const operations = this.#completed - before;
    const seconds = (performance.now() - begun) / 1_000;
    const p50Ms = this.#latencies.percentile(0.5);
    const p99Ms = this.#latencies.percentile(0.99);
    this.#running = false;
    if (this.#atWork > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    return { operations, allOperations: this.#completed - beforeAll, seconds, p50Ms, p99Ms };
  }

  #loop(operation: Operation): void {
    this.#atWork += 1;
    const timed = (begun: number): void => this.#latencies.add(performance.now() - begun);
    const done = (): void => {
      this.#completed += 1;
      if (this.#running) {
        operation(timed, done);
        return;
      }
      this.#atWork -= 1;
      if (this.#atWork === 0) this.#idle?.();
    };
    operation(timed, done);
  }
}

/** The loops of one session of a work. */
export function loopsOf(work: LoopedWork, session: RawSession, target: LoopTarget): Operation[] {
  if (work === 'cycles' || work === 'hand-overs') return [cycle(session, target.lock)];
  const request = requestOf(work, session, target);
  const operation: Operation = (timed, done) => {
    const begun = performance.now();
    request(() => {
      timed(begun);
      done();
    });
  };
  return Array.from({ length: target.outstanding }, () => operation);
}

/** Takes the lock and gives it back; the acquire is what is timed. */
export function cycle(session: LockSession, lock: string): Operation {
  return (timed, done) => {
    const begun = performance.now();
    session.acquire(lock, () => {
      timed(begun);
      session.release(done);
    });
  };
}

function requestOf(
  work: Exclude<LoopedWork, 'cycles' | 'hand-overs'>,
  session: RawSession,
  { nodes, data }: LoopTarget,
): (done: () => void) => void {
  const [node = ''] = nodes;
  switch (work) {
    case 'transactions':
      return (done) => session.transaction(nodes, data, done);
    case 'writes':
      return (done) => session.write(node, data, done);
    case 'linearizable-reads':
      return (done) => session.linearizableRead(node, done);
    case 'session-reads':
      return (done) => session.sessionRead(node, done);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
