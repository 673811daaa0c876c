/**
 * What those who hold locks are told of them: that a floor has risen, and that others wait. Outputs say of which locks; who of this server's
 * clients holds them is looked up when they are told. That happens in rounds, with a pause between them, so that it costs little however often a
 * lock changes hands: what has happened meanwhile is told as it is then, and to whom it still concerns. A client that is attached anew is told all
 * of its holds, since it may have missed something.
 */

import type { Clock, Timer } from '@holdfast/runtime';
import type { HeldPlace, StateMachine } from '@holdfast/state';
import { HOLD_NEWS_A_TURN, HOLD_NEWS_INTERVAL_MS, HOLD_NEWS_PAUSE_MS, MAX_LOCKS_WITH_NEWS } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';
import type { SessionClient } from '../port/session-client.ts';
import type { SessionClients } from '../port/session-clients.ts';

export interface HoldNewsDeps {
  readonly clock: Clock;
  readonly state: Pick<StateMachine, 'appliedIndex' | 'lockHolds' | 'sessionHolds'>;
  readonly clients: Pick<SessionClients, 'bySession'> & Iterable<SessionClient>;
}

/** Of a lock: what its holders are to be told. */
interface News {
  floor: boolean;
  contended: boolean;
}

/** Of a session that is told of all its holds. */
const EVERYTHING: News = { floor: true, contended: true };
/** Holds that a client was told are contended, and that may be over by now, before they are looked through. */
const MIN_LOOKED_THROUGH = 64;

/** What a client was told: the acquire indexes of its holds that are contended. */
interface Told {
  readonly holds: Set<number>;
  /** With more, those that are over are forgotten. */
  most: number;
}

export class HoldNews implements ServerPart {
  readonly #deps: HoldNewsDeps;
  /** Of the next round. */
  #locks = new Map<string, News>();
  #sessions = new Set<number>();
  /** The present round. */
  #round: Generator<void, void, undefined> | undefined;
  #timer: Timer | undefined;
  readonly #told = new WeakMap<SessionClient, Told>();
  /** Holds that were looked at in this turn. */
  #looked = 0;
  #stopped = false;

  constructor(deps: HoldNewsDeps) {
    this.#deps = deps;
  }

  floorRaised(lock: string): void {
    this.#newsOf(lock).floor = true;
  }

  contended(lock: string): void {
    this.#newsOf(lock).contended = true;
  }

  clientBound(client: SessionClient): void {
    const { session, hearsOfHolds } = client;
    if (hearsOfHolds && this.#deps.state.sessionHolds(session).length > 0) this.#sessions.add(session);
  }

  /** The outputs of skipped entries were seen by nobody. */
  restored(): void {
    this.#everybody();
  }

  endOfTurn(): void {
    if (this.#timer === undefined && this.#hasNews) this.#goOn();
  }

  fail(): void {
    this.stop();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#round = undefined;
  }

  get #hasNews(): boolean {
    return this.#locks.size > 0 || this.#sessions.size > 0;
  }

  #newsOf(lock: string): News {
    const known = this.#locks.get(lock);
    if (known !== undefined) return known;
    if (this.#locks.size >= MAX_LOCKS_WITH_NEWS) this.#everybody();
    const news = { floor: false, contended: false };
    this.#locks.set(lock, news);
    return news;
  }

  /** Each client is told of all its holds, in place of the locks that have news. */
  #everybody(): void {
    this.#locks.clear();
    for (const client of this.#deps.clients) {
      if (client.session !== 0 && client.hearsOfHolds) this.#sessions.add(client.session);
    }
  }

  /** The next round, or more of the present one; then a pause. */
  #goOn(): void {
    if (this.#stopped) return;
    this.#looked = 0;
    this.#round ??= this.#tell(this.#locks, this.#sessions);
    const over = this.#round.next().done === true;
    if (over) this.#round = undefined;
    this.#timer = this.#deps.clock.setTimer(over ? HOLD_NEWS_INTERVAL_MS : HOLD_NEWS_PAUSE_MS, () => {
      this.#timer = undefined;
      if (this.#round !== undefined || this.#hasNews) this.#goOn();
    });
  }

  /** Yields when so many holds were looked at as one turn may. */
  *#tell(locks: ReadonlyMap<string, News>, sessions: ReadonlySet<number>): Generator<void, void, undefined> {
    this.#locks = new Map();
    this.#sessions = new Set();
    for (const [lock, news] of locks) yield* this.#tellOf(lock, news);
    for (const session of sessions) {
      this.#looked += 1;
      for (const hold of this.#deps.state.sessionHolds(session)) this.#tellHold(hold, EVERYTHING);
      if (this.#looked >= HOLD_NEWS_A_TURN) yield;
    }
  }

  *#tellOf(lock: string, news: News): Generator<void, void, undefined> {
    for (let after = 0; ;) {
      const found = this.#deps.state.lockHolds(lock, after, Math.max(1, HOLD_NEWS_A_TURN - this.#looked));
      for (const hold of found?.holds ?? []) {
        after = hold.acquireIndex;
        this.#tellHold(hold, news);
      }
      this.#looked += 1;
      if (this.#looked >= HOLD_NEWS_A_TURN) yield;
      if (found?.more !== true) return;
    }
  }

  #tellHold({ session, lock, acquireIndex, floor, contended }: HeldPlace, news: News): void {
    this.#looked += 1;
    const client = this.#deps.clients.bySession(session);
    if (client === undefined || !client.hearsOfHolds) return;
    if (client.isBehind) {
      // Nothing is kept for it but that: when it has read, it is told all.
      this.#sessions.add(session);
      return;
    }
    const index = this.#deps.state.appliedIndex;
    if (news.floor && floor !== 0) client.send({ type: 'floor', index, lock, acquireIndex, floor });
    if (news.contended && contended && this.#isNews(client, acquireIndex))
      client.send({ type: 'contended', index, lock, acquireIndex });
  }

  /** Whether the client has not been told that of this hold. */
  #isNews(client: SessionClient, acquireIndex: number): boolean {
    let told = this.#told.get(client);
    if (told === undefined) this.#told.set(client, (told = { holds: new Set(), most: MIN_LOOKED_THROUGH }));
    const { holds } = told;
    if (holds.has(acquireIndex)) return false;
    holds.add(acquireIndex);
    if (holds.size > told.most) {
      const present = new Set(this.#deps.state.sessionHolds(client.session).map((hold) => hold.acquireIndex));
      for (const known of holds) if (!present.has(known)) holds.delete(known);
      told.most = Math.max(MIN_LOOKED_THROUGH, 2 * holds.size);
    }
    return true;
  }
}
