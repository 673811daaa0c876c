/** One client of a front, as the parts know it that serve sessions: which session it has, and what of it is not answered. */

import type { ErrorCode } from '@holdfast/protocol';
import { invariant } from '@holdfast/raft';
import type { ServerCounters } from '../counters.ts';
import { ClientThinkTime } from '../requests/batching/client-think-time.ts';
import type { RequestBudget } from '../requests/request-budget.ts';
import { RequestWindow } from '../requests/request-window.ts';
import type { ClientChannel, SessionOutput } from './client-channel.ts';

export class SessionClient {
  readonly window: RequestWindow;
  readonly thinkTime = new ClientThinkTime();
  /** The session whose requests come here; 0 for none. */
  session = 0;
  /** That of the newest attachment through this client, and of its first one: an attach may have been proposed twice. */
  generation = 0;
  firstGeneration = 0;
  /** It had a session, which is over or has moved: late requests are dropped. */
  detached = false;
  /** It was welcomed a moment ago, and its attach is to come or not answered yet. */
  awaited = false;
  /** Names this client in the attaches that it has asked for; 0 until it asks. */
  correlation = 0;
  /** Its id of the attach that is not answered; undefined when none is. */
  attachId: number | undefined;
  unansweredReads = 0;
  unansweredHeartbeats = 0;

  readonly #channel: ClientChannel;
  readonly #counters: ServerCounters;

  constructor(channel: ClientChannel, { requests, counters }: { requests: RequestBudget; counters: ServerCounters }) {
    this.#channel = channel;
    this.#counters = counters;
    this.window = new RequestWindow(requests);
  }

  get remoteAddress(): string {
    return this.#channel.remoteAddress;
  }

  get open(): boolean {
    return this.#channel.open;
  }

  get unreadBytes(): number {
    return this.#channel.unreadBytes;
  }

  get isBehind(): boolean {
    return this.#channel.isBehind;
  }

  get hearsOfHolds(): boolean {
    return this.#channel.hearsOfHolds;
  }

  send(output: SessionOutput): void {
    this.#channel.send(output);
  }

  goodbye(code: ErrorCode, message: string): void {
    this.#channel.goodbye(code, message);
  }

  /** One of its reads is answered, or its answer would reach nobody. */
  readAnswered(): void {
    invariant(this.unansweredReads > 0, 'a-read-is-answered-once');
    this.unansweredReads -= 1;
  }

  /** One of its heartbeats is acknowledged, or never will be. */
  heartbeatAnswered(): void {
    invariant(this.unansweredHeartbeats > 0, 'a-heartbeat-is-answered-once');
    this.unansweredHeartbeats -= 1;
  }

  /** Asks for the unanswered requests again. `nextToApply`: what the state machine says that it applies next. */
  resend(code: ErrorCode, nextToApply?: number): void {
    const from = this.window.resend(nextToApply);
    if (from === undefined) return;
    this.#counters.resends += 1;
    this.send({ type: 'resend', from, code });
  }

  /** Asks for the request again that was received last, and could not be taken, and for what comes behind it. */
  refuse(from: number | undefined): void {
    if (from === undefined) return;
    this.#counters.resends += 1;
    this.#counters.requestsOverShare += 1;
    this.send({ type: 'resend', from, code: 'OVERLOADED' });
  }
}
