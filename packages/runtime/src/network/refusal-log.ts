/**
 * A log of what was refused that nobody outside can fill: the first refusal of a reason and a host is a line at once, its repeats are
 * one line a second with their count, and what does not fit into the bounded table is counted in one line of others. The last count of
 * a burst is written when its second is over; when nothing is refused, no timer is pending.
 */

import type { Clock, Timer } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Address } from './address.ts';

/** A reason and a host have at most one line in this time. */
export const REFUSAL_LOG_INTERVAL_MS = 1_000;
/** Reasons and hosts that are remembered for that; refusals of further ones are counted together. */
export const MAX_LOGGED_REFUSALS = 32;
/** What a line quotes of what was refused. */
export const MAX_REFUSAL_TEXT_LENGTH = 200;

const OTHERS = '';

interface Repeats {
  readonly reason: string;
  readonly remoteAddress: Address;
  loggedAtMs: number;
  /** Since the last line. */
  count: number;
}

export class RefusalLog {
  readonly #message: string;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly #logger: Logger;
  /** The longest ago logged first. */
  readonly #repeats = new Map<string, Repeats>();
  #timer: Timer | undefined;

  /** `message`: what its lines say, as in "refused a peer connection". */
  constructor(
    message: string,
    world: { readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>; readonly logger: Logger },
  ) {
    this.#message = message;
    this.#clock = world.clock;
    this.#logger = world.logger;
  }

  /**
   * `reason`: one of few, and never of the other side's words; `problem` may quote them, and is of the first refusal only. Of the
   * address, the port does not count. `fields` go into the first line.
   */
  refused(reason: string, remoteAddress: Address, problem = reason, fields: object = {}): void {
    const host = hostOf(remoteAddress);
    const key = `${reason} ${host}`;
    const known = this.#repeats.get(key);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const others = this.#repeats.get(OTHERS);
    if (this.#repeats.size - (others === undefined ? 0 : 1) < MAX_LOGGED_REFUSALS) {
      this.#remember(key, { reason, remoteAddress: host, loggedAtMs: this.#clock.monotonicMs(), count: 0 });
      const text = problem.slice(0, MAX_REFUSAL_TEXT_LENGTH);
      this.#logger.warn({ ...fields, reason, remoteAddress, problem: text }, this.#message);
      return;
    }
    if (others !== undefined) others.count += 1;
    else {
      const repeats = { reason: 'others', remoteAddress: '', loggedAtMs: this.#clock.monotonicMs(), count: 1 };
      this.#remember(OTHERS, repeats);
    }
  }

  /** Writes what has been counted, and leaves no timer behind. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const repeats of this.#repeats.values()) if (repeats.count > 0) this.#write(repeats);
    this.#repeats.clear();
  }

  #remember(key: string, repeats: Repeats): void {
    this.#repeats.set(key, repeats);
    this.#timer ??= this.#clock.setTimer(REFUSAL_LOG_INTERVAL_MS, () => this.#due());
  }

  #due(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    let next: Repeats | undefined;
    for (const [key, repeats] of this.#repeats) {
      if (nowMs - repeats.loggedAtMs < REFUSAL_LOG_INTERVAL_MS) {
        next = repeats;
        break;
      }
      this.#repeats.delete(key);
      if (repeats.count === 0) continue;
      this.#write(repeats);
      repeats.loggedAtMs = nowMs;
      this.#repeats.set(key, repeats);
    }
    next ??= this.#repeats.values().next().value;
    if (next === undefined) return;
    const delayMs = next.loggedAtMs + REFUSAL_LOG_INTERVAL_MS - nowMs;
    this.#timer = this.#clock.setTimer(Math.max(1, delayMs), () => this.#due());
  }

  #write(repeats: Repeats): void {
    const { reason, remoteAddress, count } = repeats;
    repeats.count = 0;
    if (remoteAddress === '') this.#logger.warn({ reason, count }, `${this.#message}, and more than are listed`);
    else this.#logger.warn({ reason, remoteAddress, count }, `${this.#message}, again`);
  }
}

/** Without the port, which is another for each connection; anything that is no address stays as it is. */
function hostOf(address: Address): string {
  const port = address.lastIndexOf(':');
  return port > 0 ? address.slice(0, port) : address;
}
