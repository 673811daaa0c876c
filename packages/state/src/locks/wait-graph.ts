/**
 * Who waits for whom (Coffman's wait-for graph): derived from the queues whenever it is asked for, and kept nowhere. Its nodes are acquires.
 *
 *   a wait → those who hold a lock that it asks for, where they keep it from being granted
 *   a wait → the wait before it in each of its queues: nobody overtakes
 *   a hold → the waits of its session, but those for a lock that it holds itself: what the session waits for on behalf of the hold
 *
 * A ring in it is a deadlock as far as the ensemble can know. A session may be many tasks, and which of them has a hold and which one waits is
 * its own affair: so it is a possible deadlock. Who holds a lock and waits for the same lock once more are two tasks, since a lock is not
 * entered twice.
 *
 * Of those who hold a lock together, only such count whose sessions wait themselves. The others go on, and give it back: of a semaphore
 * that may be enough.
 */

import { MAX_DEADLOCK_STEPS, type DeadlockStep, type LockRequest } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { NodeStore } from '../tree/node-store.ts';
import type { Holders } from './kinds/lock-kind.ts';
import type { Lock, QueuedAcquire } from './lock.ts';

/** How an acquire was come by. */
interface Visit {
  /** By which its session knows it. */
  readonly acquire: QueuedAcquire;
  /** At which the one before waits for it; undefined where it is a wait on behalf of the hold before. */
  readonly lock: Lock | undefined;
  readonly from: Visit | undefined;
}

type Edge = Pick<Visit, 'acquire' | 'lock'>;

/** What an acquire leads to, nearest first. */
export class Reached {
  readonly #start: QueuedAcquire;
  readonly #order: readonly Visit[];
  readonly #byAcquire: ReadonlyMap<QueuedAcquire, Visit>;

  constructor(start: QueuedAcquire, order: readonly Visit[], byAcquire: ReadonlyMap<QueuedAcquire, Visit>) {
    this.#start = start;
    this.#order = order;
    this.#byAcquire = byAcquire;
  }

  has(acquire: QueuedAcquire): boolean {
    return this.#byAcquire.has(acquire);
  }

  /** Acquires that end when they are in a deadlock, the youngest first. */
  aborting(): QueuedAcquire[] {
    return this.#order
      .filter(({ acquire }) => acquire.token === 0 && acquire.options.abortInDeadlock)
      .map(({ acquire }) => acquire)
      .sort((left, right) => right.acquireIndex - left.acquireIndex);
  }

  /**
   * The shortest ring that leads back to where it began, which is a wait. Told from that wait on; where others of the ring only wait behind it,
   * from the next. Undefined when none does.
   */
  deadlock(nodes: Pick<NodeStore, 'ctime'>): DeadlockStep[] | undefined {
    let visit = this.#byAcquire.get(this.#start);
    if (visit === undefined) return undefined;
    const ring: Visit[] = [];
    for (; visit.from !== undefined; visit = visit.from) ring.push(visit);
    return stepsOf(ring.toReversed(), nodes);
  }
}

export class WaitGraph {
  /** Acquires that may be looked at. */
  #left: number;
  readonly #stuck = new Map<Lock, readonly QueuedAcquire[]>();

  /** Of the queues as they are now: for another moment it takes another graph. @param left acquires that may be looked at */
  constructor(left: number) {
    this.#left = left;
  }

  /** How many more may be looked at; below 0 when that was too few. */
  get left(): number {
    return this.#left;
  }

  /** Everything that an acquire leads to; undefined where that is more than may be looked at. */
  from(start: QueuedAcquire): Reached | undefined {
    return this.#search(start, () => false, undefined);
  }

  /** The same up to the shortest ring that leads back to a wait. @param among which waits of the ring may be others than that one */
  ringFrom(start: QueuedAcquire, among: 'all' | 'older' = 'all'): Reached | undefined {
    const { acquireIndex } = start;
    const passed = among === 'all' ? undefined : (wait: QueuedAcquire): boolean => wait.acquireIndex > acquireIndex;
    return this.#search(start, (acquire) => acquire === start, passed);
  }

  /** Breadth first, in an order that is the same on every server. @param passed tells of a wait that it is not looked at */
  #search(
    start: QueuedAcquire,
    isEnd: (acquire: QueuedAcquire) => boolean,
    passed: ((wait: QueuedAcquire) => boolean) | undefined,
  ): Reached | undefined {
    const order: Visit[] = [];
    const byAcquire = new Map<QueuedAcquire, Visit>();
    let visit: Visit | undefined = { acquire: start, lock: undefined, from: undefined };
    for (let next = 0; visit !== undefined; next += 1) {
      for (const { acquire, lock } of this.#edgesOf(visit.acquire)) {
        if (byAcquire.has(acquire) || (acquire.token === 0 && passed?.(acquire) === true)) continue;
        const found: Visit = { acquire, lock, from: visit };
        byAcquire.set(acquire, found);
        order.push(found);
        if (isEnd(acquire)) return new Reached(start, order, byAcquire);
      }
      this.#left -= 1;
      if (this.#left < 0) return undefined;
      visit = order[next];
    }
    return new Reached(start, order, byAcquire);
  }

  #edgesOf(acquire: QueuedAcquire): readonly Edge[] {
    return acquire.token === 0 ? this.#waitsFor(acquire) : this.#onBehalfOf(acquire);
  }

  #waitsFor(wait: QueuedAcquire): readonly Edge[] {
    const edges: Edge[] = [];
    for (const { lock, request, previous } of wait.parts ?? [wait]) {
      const stuck = this.#stuckAt(lock);
      if (stuck.length > 0 && !lock.kind.mayJoin(asHolders(stuck), request))
        for (const holder of stuck) edges.push({ acquire: holder.lead, lock });
      if (previous !== undefined) edges.push({ acquire: previous.lead, lock });
    }
    return edges;
  }

  #onBehalfOf(hold: QueuedAcquire): readonly Edge[] {
    const { siblings } = hold;
    if (!waits(hold)) return [];
    this.#left -= siblings.size;
    if (this.#left < 0) return [];
    const others = siblings.inOrder().filter((acquire) => acquire.token === 0 && !haveOneLock(hold, acquire));
    return others.map((acquire) => ({ acquire, lock: undefined }));
  }

  /** Those who hold the lock, and whose sessions wait for something. */
  #stuckAt(lock: Lock): readonly QueuedAcquire[] {
    let stuck = this.#stuck.get(lock);
    if (stuck === undefined) {
      this.#left -= lock.holders.size;
      stuck = this.#left < 0 ? [] : [...lock.holders].filter(waits);
      this.#stuck.set(lock, stuck);
    }
    return stuck;
  }
}

/** Whether the session of a hold waits for anything. */
function waits({ siblings }: QueuedAcquire): boolean {
  return siblings.size > siblings.holds;
}

function haveOneLock(left: QueuedAcquire, right: QueuedAcquire): boolean {
  const others = right.parts ?? [right];
  return (left.parts ?? [left]).some(({ lock }) => others.some((other) => other.lock === lock));
}

/** Some of those who hold a lock, as its kind looks at them. */
function asHolders(some: readonly QueuedAcquire[]): Holders<LockRequest> {
  return {
    size: some.length,
    weight: some.reduce((sum, { weight }) => sum + weight, 0),
    first: some[0],
    [Symbol.iterator]: () => some[Symbol.iterator](),
  };
}

/** A session in a ring: its wait, and what the next session has that it waits for. */
interface Link {
  readonly wait: QueuedAcquire;
  readonly waitsAt: Lock;
  readonly behind: number;
  readonly hold: QueuedAcquire;
  readonly heldAt: Lock;
}

/** @param ring what a wait leads to, one after the other, up to that wait itself */
function stepsOf(ring: readonly Visit[], nodes: Pick<NodeStore, 'ctime'>): DeadlockStep[] {
  // Whoever is only before another in a queue is told with that one.
  const place = ring.at(-1)?.lock === undefined ? ring.length - 1 : ring.findIndex(({ lock }) => lock === undefined);
  const first = ring[place];
  invariant(first !== undefined, 'a deadlock has a wait and a hold');
  const links = linksOf(first.acquire, [...ring.slice(place + 1), ...ring.slice(0, place + 1)]);
  const last = links.at(-1);
  invariant(last !== undefined, 'a deadlock has a wait and a hold');
  return links.slice(0, MAX_DEADLOCK_STEPS).map(({ wait, waitsAt, behind }, at) => {
    const { hold, heldAt } = links[at - 1] ?? last;
    const { session, acquireIndex } = wait;
    const { node } = wait.partAt(waitsAt.name) ?? wait;
    return {
      session: session.id,
      label: session.label,
      holds: heldAt.name,
      token: hold.token,
      waitsFor: waitsAt.name,
      acquireIndex,
      since: nodes.ctime(node),
      behind,
    };
  });
}

function linksOf(first: QueuedAcquire, ring: readonly Visit[]): readonly Link[] {
  const links: Link[] = [];
  let wait = first;
  let waitsAt: Lock | undefined;
  let behind = 0;
  let held: { readonly hold: QueuedAcquire; readonly heldAt: Lock } | undefined;
  for (const { acquire, lock } of ring) {
    if (lock === undefined) {
      invariant(waitsAt !== undefined && held !== undefined, 'a session in a deadlock waits for what another has');
      links.push({ wait, waitsAt, behind, ...held });
      wait = acquire;
      waitsAt = undefined;
      behind = 0;
      continue;
    }
    waitsAt ??= lock;
    if (acquire.token === 0) behind = acquire.acquireIndex;
    else held = { hold: acquire, heldAt: lock };
  }
  return links;
}
