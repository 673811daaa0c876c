/**
 * How many clients may be between their welcome and their attach. Who is let in is served before newer ones come, so that no work is done
 * for somebody who has given up meanwhile; the others get a time to come again: one after another, as fast as attaches are answered.
 */

import type { Clock } from '@holdfast/runtime';
import type { SessionClient } from './session-client.ts';
import { ADMISSION_IDLE_MS, ASSUMED_ATTACHES_PER_S, MAX_COME_AGAIN_MS, MIN_ADMITTED } from '../limits.ts';
import type { ServerPart } from '../machine/server-part.ts';

/** The pace is measured anew after this time, and with at least as many attaches. */
const MEASURED_MS = 250;
const MEASURED_ATTACHES = 50;

interface Admitted {
  readonly client: SessionClient;
  readonly atMs: number;
}

export class Admission implements ServerPart {
  readonly #clock: Clock;
  /** In the order in which they were welcomed; some of them are awaited no more. */
  #admitted: Admitted[] = [];
  #underWay = 0;
  #perSecond = ASSUMED_ATTACHES_PER_S;
  #measuredFromMs = 0;
  #attached = 0;
  /** When the next client comes that is sent away. */
  #nextTurnMs = 0;
  /** How many were sent away. */
  sentAway = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Clients that were welcomed and are not attached. */
  get underWay(): number {
    this.#forgetIdle();
    return this.#underWay;
  }

  /** Undefined: the client is welcome now. Otherwise the time in which it should come again. */
  comeAgainInMs(): number | undefined {
    const { underWay } = this;
    if (underWay < Math.max(MIN_ADMITTED, this.#perSecond)) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const servedInMs = (underWay / this.#perSecond) * 1_000;
    this.#nextTurnMs = Math.max(this.#nextTurnMs, nowMs + servedInMs / 2) + 1_000 / this.#perSecond;
    this.sentAway += 1;
    return Math.ceil(Math.min(MAX_COME_AGAIN_MS, this.#nextTurnMs - nowMs));
  }

  welcomed(client: SessionClient): void {
    client.awaited = true;
    this.#underWay += 1;
    this.#admitted.push({ client, atMs: this.#clock.monotonicMs() });
  }

  /** Its session is bound. */
  clientBound(client: SessionClient): void {
    if (!client.awaited) return;
    this.#measure();
    this.clientClosed(client);
  }

  /** It is closed, or not waited for any more. */
  clientClosed(client: SessionClient): void {
    if (!client.awaited) return;
    client.awaited = false;
    this.#underWay -= 1;
  }

  /** Counts only while many wait: how fast attaches come when few ask for them says nothing. */
  #measure(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#underWay < MEASURED_ATTACHES) {
      this.#measuredFromMs = nowMs;
      this.#attached = 0;
      return;
    }
    this.#attached += 1;
    const elapsedMs = nowMs - this.#measuredFromMs;
    if (elapsedMs < MEASURED_MS || this.#attached < MEASURED_ATTACHES) return;
    this.#perSecond = (this.#perSecond + (this.#attached / elapsedMs) * 1_000) / 2;
    this.#measuredFromMs = nowMs;
    this.#attached = 0;
  }

  /** Who has asked for nothing stands in nobody's way: a tool that reads, or somebody who means no good. */
  #forgetIdle(): void {
    const idleBeforeMs = this.#clock.monotonicMs() - ADMISSION_IDLE_MS;
    let passed = 0;
    for (const { client, atMs } of this.#admitted) {
      if (client.awaited) {
        if (atMs > idleBeforeMs || client.attachId !== undefined) break;
        this.clientClosed(client);
      }
      passed += 1;
    }
    if (passed > 0) this.#admitted = this.#admitted.slice(passed);
  }
}
