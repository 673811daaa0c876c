/**
 * Watch messages of clients that have seen more than this server has applied: they wait for a moment, as reads do, and then are told so. What
 * waits is held in memory, so there are bounds for each client and for all.
 */

import { WATCH_PATH_UNITS } from '@holdfast/protocol';
import type { Clock, Timer } from '@holdfast/runtime';
import { MAX_WAITING_WATCH_BYTES, MAX_WAITING_WATCH_BYTES_PER_CONNECTION, WATCH_WAIT_MS } from '../limits.ts';
import type { SessionClient } from '../port/session-client.ts';
import type { WatchRequest } from '../port/session-port.ts';
import { readBytes } from '../requests/watch-reads.ts';

/** Of what is kept for each node beside its path. */
const NODE_BYTES = WATCH_PATH_UNITS;

interface Waiting {
  readonly client: SessionClient;
  readonly request: WatchRequest;
  readonly index: number;
  readonly untilMs: number;
  readonly bytes: number;
}

export interface WaitingWatchesDeps {
  readonly clock: Clock;
  /** The index is applied. */
  reached(client: SessionClient, request: WatchRequest): void;
  /** It is not, and the time is up. */
  late(client: SessionClient, request: WatchRequest, index: number): void;
}

export class WaitingWatches {
  readonly #deps: WaitingWatchesDeps;
  /** In the order in which their time is up. */
  #waiting: Waiting[] = [];
  #bytes = 0;
  #timer: Timer | undefined;

  constructor(deps: WaitingWatchesDeps) {
    this.#deps = deps;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when too much waits already. */
  add(client: SessionClient, request: WatchRequest, index: number): boolean {
    const bytes = request.nodes.reduce(
      (sum, { path }) => sum + NODE_BYTES + 2 * path.length,
      NODE_BYTES + readBytes(request),
    );
    let ofClient = bytes;
    for (const waiting of this.#waiting) if (waiting.client === client) ofClient += waiting.bytes;
    if (ofClient > MAX_WAITING_WATCH_BYTES_PER_CONNECTION || this.#bytes + bytes > MAX_WAITING_WATCH_BYTES)
      return false;
    const untilMs = this.#deps.clock.monotonicMs() + WATCH_WAIT_MS;
    this.#waiting.push({ client, request, index, untilMs, bytes });
    this.#bytes += bytes;
    this.#timer ??= this.#deps.clock.setTimer(WATCH_WAIT_MS, () => this.#endLate());
    return true;
  }

  /** Everything up to that index is applied. */
  applied(index: number): void {
    if (this.#waiting.length === 0) return;
    const reached = this.#waiting.filter((waiting) => waiting.index <= index);
    this.#keep((waiting) => waiting.index > index);
    for (const { client, request } of reached) this.#deps.reached(client, request);
  }

  gone(client: SessionClient): void {
    if (this.#waiting.length > 0) this.#keep((waiting) => waiting.client !== client);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #endLate(): void {
    this.#timer = undefined;
    const nowMs = this.#deps.clock.monotonicMs();
    const late = this.#waiting.filter(({ untilMs }) => untilMs <= nowMs);
    this.#keep(({ untilMs }) => untilMs > nowMs);
    for (const { client, request, index } of late) this.#deps.late(client, request, index);
    const [next] = this.#waiting;
    if (next !== undefined) this.#timer ??= this.#deps.clock.setTimer(next.untilMs - nowMs, () => this.#endLate());
  }

  #keep(stays: (waiting: Waiting) => boolean): void {
    this.#waiting = this.#waiting.filter(stays);
    this.#bytes = this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
