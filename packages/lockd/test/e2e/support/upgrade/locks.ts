/** Locks: holders that exclude each other, waits in order, refusals, waits that are given up, holds that outlive their connections. */

import type { Client, HeldLock, OperatorClient } from '@holdfast/client';
import { expect } from 'vitest';
import { until } from '../lockd-process.ts';
import { sessionsLabelled, type Clients, type Opened } from './clients.ts';
import { expectRising, lockIsFree, ownsNothing, pending, textOf, waitersBecome } from './expectations.ts';
import type { Work } from './work.ts';

/** Several clients want one lock, and count under it by reading and writing. */
export class Counting implements Work {
  readonly name = 'counting under a lock';
  readonly #path = '/upgrade-count';
  readonly #tokens: number[] = [];
  #clients: Client[] = [];
  #rounds = 0;

  async begin(clients: Clients): Promise<void> {
    this.#clients = await clients.several(4, 'counting');
    await this.#clients[0]?.nodes.create(this.#path, '0');
  }

  async round(): Promise<void> {
    await Promise.all(this.#clients.map((client) => this.#count(client)));
    this.#rounds += 1;
  }

  async check(): Promise<void> {
    const [client] = this.#clients;
    if (client === undefined) throw new Error('it has not begun');
    const { data, stat } = await client.nodes.get(this.#path);
    const wanted = this.#rounds * this.#clients.length;
    const counted = [Number(textOf(data)), stat.version];
    expect(counted, 'the count, and how often it was written').toEqual([wanted, wanted]);
    expectRising(this.#tokens, wanted);
    await lockIsFree(client, 'upgrade-count');
  }

  async #count(client: Client): Promise<void> {
    await client.lock('upgrade-count').withLock(async (held) => {
      this.#tokens.push(held.token);
      // Without the version: only the lock keeps two from counting at once.
      const { data } = await client.nodes.get(this.#path);
      await client.nodes.set(this.#path, String(Number(textOf(data)) + 1));
    });
  }
}

/** Two wait behind a holder, a third gives up its wait, and a fourth does not want to wait. */
export class WaitingInOrder implements Work {
  readonly name = 'waiting for a lock in order';
  readonly #lock = 'upgrade-order';
  readonly #tokens: number[] = [];
  #clients: Client[] = [];
  #rounds = 0;

  async begin(clients: Clients): Promise<void> {
    this.#clients = await clients.several(4, 'in order');
  }

  async round(): Promise<void> {
    const [holder, first, second, other] = this.#clients as [Client, Client, Client, Client];
    const held = await this.#granted(holder.lock(this.#lock).acquire());
    const next = pending(first.lock(this.#lock).acquire());
    await waitersBecome(holder, this.#lock, [first.sessionId]);
    const last = pending(second.lock(this.#lock).acquire());
    await waitersBecome(holder, this.#lock, [first.sessionId, second.sessionId]);
    await this.#giveUp(other, [first.sessionId, second.sessionId]);
    await this.#refused(other, holder, held.token);
    await held.release();
    const nextHeld = await this.#granted(next);
    await waitersBecome(other, this.#lock, [second.sessionId]);
    await nextHeld.release();
    await (await this.#granted(last)).release();
    await lockIsFree(other, this.#lock);
    this.#rounds += 1;
  }

  async check(): Promise<void> {
    expectRising(this.#tokens, 3 * this.#rounds);
    for (const client of this.#clients) await ownsNothing(client);
  }

  async #granted(acquire: Promise<HeldLock>): Promise<HeldLock> {
    const held = await acquire;
    this.#tokens.push(held.token);
    return held;
  }

  /** A wait that is aborted leaves the queue, and changes nobody's place there. */
  async #giveUp(client: Client, before: readonly number[]): Promise<void> {
    const reason = new Error('given up');
    const given = new AbortController();
    const wait = pending(client.lock(this.#lock).acquire({ signal: given.signal }));
    await waitersBecome(client, this.#lock, [...before, client.sessionId]);
    given.abort(reason);
    expect(await wait.catch((error: unknown) => error), 'how an aborted wait ends').toBe(reason);
    await waitersBecome(client, this.#lock, before);
  }

  async #refused(client: Client, holder: Client, token: number): Promise<void> {
    const answer = await client.lock(this.#lock).tryAcquire();
    const by = { session: holder.sessionId, token, label: 'in order' };
    expect(answer, 'without a wait').toMatchObject({ acquired: false, reason: 'held', holder: by });
    const late = await client.lock(this.#lock).tryAcquire({ waitMs: 1 });
    expect(late, 'with a short wait').toMatchObject({ acquired: false, reason: 'timeout' });
  }
}

/** A holder loses its connection and comes back, to this server or another: it holds what it held. */
export class Reattaching implements Work {
  readonly name = 'holding over a reattach';
  readonly #lock = 'upgrade-reattach';
  readonly #tokens: number[] = [];
  #holder!: Opened;
  #other!: Client;
  #session = 0;
  #rounds = 0;

  async begin(clients: Clients): Promise<void> {
    this.#holder = await clients.open('reattaching');
    this.#session = this.#holder.client.sessionId;
    this.#other = (await clients.open('beside the reattaching')).client;
  }

  async round(): Promise<void> {
    const { client, way } = this.#holder;
    const held = await client.lock(this.#lock).acquire();
    this.#tokens.push(held.token);
    const events: string[] = [];
    const removers = (['connected', 'expired', 'closed'] as const).map((type) =>
      client.events.on(type, () => events.push(type)),
    );
    way.break();
    await until(() => events.length > 0);
    for (const remove of removers) remove();
    expect(events[0], 'the state after the break').toBe('connected');
    await held.verify();
    expect([client.sessionId, held.loss], 'session and loss after the reattach').toEqual([this.#session, undefined]);
    const beside = await this.#other.lock(this.#lock).tryAcquire();
    expect(beside, 'another client').toMatchObject({ acquired: false, holder: { token: held.token } });
    await held.release();
    this.#rounds += 1;
  }

  async check(): Promise<void> {
    expectRising(this.#tokens, this.#rounds);
    const sessions = await sessionsLabelled(this.#other, 'reattaching');
    expect(sessions, 'the sessions of a client that reattached').toMatchObject([{ session: this.#session, holds: 0 }]);
    await lockIsFree(this.#other, this.#lock);
  }
}

/** One hold, and one wait behind it, over the whole upgrade. */
export class HoldingAllTheWhile implements Work {
  readonly name = 'one hold all the while';
  readonly #lock = 'upgrade-kept';
  #operator!: OperatorClient;
  #held!: HeldLock;
  #waiter!: Client;
  #wait!: Promise<HeldLock>;
  #granted = false;

  async begin(clients: Clients): Promise<void> {
    this.#operator = await clients.operator();
    this.#held = await (await clients.open('keeps')).client.lock(this.#lock).acquire();
    this.#waiter = (await clients.open('waits')).client;
    const wait = this.#waiter.lock(this.#lock).acquire();
    this.#wait = pending(
      wait.finally(() => {
        this.#granted = true;
      }),
    );
    await waitersBecome(this.#operator, this.#lock, [this.#waiter.sessionId]);
  }

  async round(): Promise<void> {
    await this.#held.verify();
    const { holders, waiters } = await this.#operator.admin.lock(this.#lock);
    expect(holders, 'the holder').toMatchObject([{ token: this.#held.token, label: 'keeps' }]);
    expect(waiters, 'who waits').toMatchObject([{ session: this.#waiter.sessionId }]);
    expect(this.#granted, 'granted beside a holder').toBe(false);
  }

  async check(): Promise<void> {
    await this.round();
    await this.#held.release();
    await until(() => this.#granted);
    const next = await this.#wait;
    await next.verify();
    expect(next.token, 'the token of the next holder').toBeGreaterThan(this.#held.token);
    await next.release();
    await lockIsFree(this.#operator, this.#lock);
  }
}
