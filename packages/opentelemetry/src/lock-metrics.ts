/**
 * How long locks are waited for and held, in seconds, by the mode, and what happens to sessions. Names of locks are in spans alone: there may be
 * many.
 */

import type { AcquireMessage, HoldMessage } from '@holdfast/client';
import type { Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';

export class LockMetrics {
  readonly #acquireSeconds: Histogram;
  readonly #holdSeconds: Histogram;
  readonly #held: UpDownCounter;
  readonly #events: Counter;
  /** When it began, in milliseconds of the monotonic clock. */
  readonly #since = new WeakMap<AcquireMessage | HoldMessage, number>();

  constructor(meter: Meter) {
    this.#acquireSeconds = meter.createHistogram('holdfast.client.acquire.duration', {
      unit: 's',
      description: 'From the call of an acquire to its outcome',
    });
    this.#holdSeconds = meter.createHistogram('holdfast.client.hold.duration', {
      unit: 's',
      description: 'From a grant to its release or loss',
    });
    this.#held = meter.createUpDownCounter('holdfast.client.holds', { description: 'Locks that are held now' });
    this.#events = meter.createCounter('holdfast.client.events', { description: 'Events of clients, by their type' });
  }

  acquireStarted(message: AcquireMessage): void {
    this.#since.set(message, performance.now());
  }

  acquireEnded(message: AcquireMessage): void {
    const outcome = message.outcome ?? 'failed';
    this.#record(this.#acquireSeconds, message, { 'holdfast.outcome': outcome, 'holdfast.mode': message.mode });
  }

  holdStarted(message: HoldMessage): void {
    this.#since.set(message, performance.now());
    this.#held.add(1, { 'holdfast.mode': message.mode });
  }

  holdEnded(message: HoldMessage): void {
    if (!this.#since.has(message)) return;
    this.#held.add(-1, { 'holdfast.mode': message.mode });
    const end = message.reason ?? 'released';
    this.#record(this.#holdSeconds, message, { 'holdfast.end': end, 'holdfast.mode': message.mode });
  }

  event(type: string): void {
    this.#events.add(1, { 'holdfast.event': type });
  }

  #record(into: Histogram, message: AcquireMessage | HoldMessage, attributes: Record<string, string>): void {
    const sinceMs = this.#since.get(message);
    if (sinceMs === undefined) return;
    this.#since.delete(message);
    into.record((performance.now() - sinceMs) / 1000, attributes);
  }
}
