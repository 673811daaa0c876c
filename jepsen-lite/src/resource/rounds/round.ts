/** One round of a situation: what its director tells the holders, recorded as it happens. Values are never written twice. */

import type { Link } from '../holders/held-back-link.ts';
import { now, type CallOptions, type Holder } from '../holders/holder.ts';
import type { Purpose, RoundEvent, WriteEvent } from './event.ts';

/** The processes, and what the resource can be asked. */
export interface Cast {
  readonly a: Holder;
  readonly b: Holder;
  readonly c: Holder;
  readonly installs: boolean;
  readonly writesUnfenced: boolean;
  /** Between A and the resource, where it has an address. */
  readonly link?: Link;
}

/** Acquiring, releasing and signals; whatever the resource answers is recorded and does not reject. */
export class Round {
  readonly events: RoundEvent[] = [];
  readonly #cast: Cast;
  readonly #prefix: string;
  #values = 0;
  #held: { readonly holder: Holder; letThroughAt: number | undefined } | undefined;

  constructor(cast: Cast, prefix: string) {
    this.#cast = cast;
    this.#prefix = prefix;
  }

  async acquire(holder: Holder): Promise<number> {
    const token = await holder.acquire();
    this.events.push({ type: 'granted', who: holder.name, token, endedAt: now() });
    return token;
  }

  async release(holder: Holder): Promise<void> {
    await holder.release();
    this.events.push({ type: 'released', who: holder.name, endedAt: now() });
  }

  /** The first contact of a new holder: it installs its token, where that can be, and writes. */
  async begin(holder: Holder, token: number): Promise<WriteEvent> {
    await this.install(holder, token);
    await this.read(holder);
    return await this.write(holder, token, 'newest');
  }

  async install(holder: Holder, token: number): Promise<void> {
    if (!this.#cast.installs) return;
    const { calledAt, endedAt, outcome } = await holder.call({ type: 'install', token });
    this.events.push({ type: 'install', who: holder.name, token, calledAt, endedAt, outcome });
  }

  async write(holder: Holder, token: number, purpose: Purpose, options: CallOptions = {}): Promise<WriteEvent> {
    const value = this.#nextValue(holder);
    const { calledAt, endedAt, outcome } = await holder.call({ type: 'write', value, token }, options);
    const { route = 'own' } = options;
    const reachedAt = route === 'held back' ? (this.#held?.letThroughAt ?? calledAt) : calledAt;
    const event: WriteEvent = {
      type: 'write',
      who: holder.name,
      purpose,
      token,
      value,
      route,
      calledAt,
      reachedAt,
      endedAt,
      outcome,
    };
    this.events.push(event);
    return event;
  }

  async writeUnfenced(holder: Holder, token: string | undefined): Promise<void> {
    const value = this.#nextValue(holder);
    const { calledAt, endedAt, outcome } = await holder.call({ type: 'write-unfenced', value, token });
    const what = { type: 'write', who: holder.name, purpose: 'unfenced', token, value, route: 'own' } as const;
    this.events.push({ ...what, calledAt, reachedAt: calledAt, endedAt, outcome });
  }

  async read(holder: Holder, options: CallOptions = {}): Promise<void> {
    const { calledAt, endedAt, outcome, value } = await holder.call({ type: 'read' }, options);
    this.events.push({ type: 'read', who: holder.name, calledAt, endedAt, value, outcome });
  }

  pause(holder: Holder): void {
    holder.pause();
    this.events.push({ type: 'stopped', who: holder.name, endedAt: now() });
  }

  wake(holder: Holder): void {
    this.events.push({ type: 'woken', who: holder.name, endedAt: now() });
    holder.resume();
  }

  /** Has `holder` write on a link that holds the write back. Resolves once it is held, with what lets it through and awaits its end. */
  async writeLate(holder: Holder, link: Link, token: number, timeoutMs: number): Promise<() => Promise<void>> {
    const held = link.hold(timeoutMs);
    const flight = { holder, letThroughAt: undefined as number | undefined };
    this.#held = flight;
    const written = this.write(holder, token, 'stale', { route: 'held back' });
    try {
      await held;
    } catch (error) {
      link.release();
      await written;
      throw error;
    }
    this.events.push({ type: 'held-back', who: holder.name, endedAt: now() });
    return async () => {
      flight.letThroughAt = now();
      this.events.push({ type: 'let-through', who: holder.name, endedAt: flight.letThroughAt });
      link.release();
      await written;
    };
  }

  #nextValue(holder: Holder): string {
    this.#values += 1;
    return `${this.#prefix}-${holder.name}${this.#values}`;
  }
}
