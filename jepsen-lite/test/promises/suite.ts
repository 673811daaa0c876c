/**
 * What an application may rely on, as tests that run against anything that claims to be an ensemble: real processes, the twin that
 * applications test with, and the simulation. Whatever holds for one of them and not for another is a bug of one of them.
 */

import { LockLostError, TimeoutError, TransactionFailedError, check, create, set } from '@holdfast/client';
import type { Client, ConnectOptions, HeldLock, NodeWatch } from '@holdfast/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedLockPromises } from './shared-locks.ts';
import { waitingPromises } from './waiting.ts';

export interface Subject {
  connect(options?: Partial<ConnectOptions>): Promise<Client>;
  /** The outcome of a client's promise; time passes for it where it does not by itself. */
  complete<T>(promise: Promise<T>): Promise<T>;
  until(condition: () => boolean): Promise<void>;
  /** Cuts the client off until its session has ended, and lets it hear of that. */
  expire(client: Client): Promise<void>;
  /** The server that leads is gone, and comes back when another one leads. */
  changeLeader(): Promise<void>;
  /** Every member has agreed on the latest state version: until then there are mutexes alone, and no transactions. */
  agreed(): Promise<void>;
  /** With every client. */
  close(): Promise<void>;
}

export function promisesOf(name: string, start: () => Promise<Subject>): void {
  describe(`what ${name} promises:`, () => {
    let subject: Subject;
    let names = 0;
    const fresh = (): string => `lock-${(names += 1)}`;

    beforeAll(async () => {
      subject = await start();
    }, 120_000);
    afterAll(async () => {
      await subject?.close();
    });

    it('grants go to one after another, in the order in which they came, under rising tokens', async () => {
      const lock = fresh();
      const clients = [await subject.connect(), await subject.connect(), await subject.connect()];
      const tokens: number[] = [];
      let held: HeldLock | undefined;
      const waits: Promise<HeldLock>[] = [];
      for (const [place, client] of clients.entries()) {
        waits.push(client.lock(lock).acquire());
        await subject.until(() => client.status().holds + client.status().waits === 1);
        if (place === 0) held = await subject.complete(waits[0] as Promise<HeldLock>);
      }
      for (const [place, client] of clients.entries()) {
        held = await subject.complete(waits[place] as Promise<HeldLock>);
        tokens.push(held.token);
        expect(clients.map((each) => each.status().holds)).toEqual(clients.map((each) => (each === client ? 1 : 0)));
        await subject.complete(held.verify());
        await subject.complete(held.release());
      }
      expect(tokens).toEqual(tokens.toSorted((left, right) => left - right));
      expect(new Set(tokens).size).toBe(3);
    });

    it('a hold whose session has expired is known to be lost, and the next token is higher', async () => {
      const lock = fresh();
      const [client, other] = [await subject.connect(), await subject.connect()];
      const held = await subject.complete(client.lock(lock).acquire());
      const { signal } = held;
      const waiting = other.lock(lock).acquire();
      await subject.until(() => other.status().waits === 1);
      await subject.expire(client);
      expect(signal.aborted).toBe(true);
      expect(held.remainingMs()).toBe(0);
      expect(() => held.assertHeld()).toThrow(LockLostError);
      const next = await subject.complete(waiting);
      expect(next.token).toBeGreaterThan(held.token);
      await subject.complete(next.release());
    });

    it('withLock rejects with the loss although its body has noticed nothing', async () => {
      const client = await subject.connect();
      let goOn = (): void => {};
      const running = client.lock(fresh()).withLock(
        () =>
          new Promise<void>((resolve) => {
            goOn = resolve;
          }),
      );
      const outcome = running.catch((error: unknown) => error);
      await subject.until(() => client.status().holds === 1);
      await subject.expire(client);
      goOn();
      expect(await subject.complete(outcome)).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    });

    it('a wait that was given up has left nothing, and says for whom it waited', async () => {
      const lock = fresh();
      const [client, other] = [await subject.connect(), await subject.connect({ label: 'patient' })];
      const held = await subject.complete(client.lock(lock).acquire());
      const error = await subject.complete(
        other
          .lock(lock)
          .acquire({ waitMs: 1_000 })
          .catch((thrown: unknown) => thrown),
      );
      expect(error).toBeInstanceOf(TimeoutError);
      expect((error as TimeoutError).wait).toMatchObject({ holders: [{ session: client.sessionId }], before: 0 });
      const aborter = new AbortController();
      const aborted = other
        .lock(lock)
        .acquire({ signal: aborter.signal })
        .catch((thrown: unknown) => thrown);
      await subject.until(() => other.status().waits === 1);
      aborter.abort('enough');
      expect(await subject.complete(aborted)).toBe('enough');
      await subject.complete(held.release());
      const again = await subject.complete(client.lock(lock).tryAcquire());
      expect(again.acquired).toBe(true);
      expect(await subject.complete(client.admin.lock(lock))).toMatchObject({
        holders: [{ session: client.sessionId }],
        waiters: [],
      });
    });

    it('holds, waits and calls outlive a change of leader, and no application sees an error', async () => {
      const lock = fresh();
      const [client, other] = [await subject.connect(), await subject.connect()];
      const held = await subject.complete(client.lock(lock).acquire());
      const waiting = other.lock(lock).acquire();
      await subject.until(() => other.status().waits === 1);
      await subject.changeLeader();
      await subject.complete(held.verify());
      expect(held.loss).toBeUndefined();
      await subject.complete(held.release());
      const next = await subject.complete(waiting);
      expect(next.token).toBeGreaterThan(held.token);
      await subject.complete(next.release());
    });

    it('an operator takes a hold away, and its owner hears of it', async () => {
      const lock = fresh();
      const [client, other, operator] = [await subject.connect(), await subject.connect(), await subject.connect()];
      const held = await subject.complete(client.lock(lock).acquire());
      const waiting = other.lock(lock).acquire();
      await subject.until(() => other.status().waits === 1);
      await subject.complete(operator.admin.closeSession(client.sessionId));
      await subject.until(() => held.loss !== undefined);
      expect(held.loss?.reason).toBe('revoked');
      expect((await subject.complete(waiting)).token).toBeGreaterThan(held.token);
    });

    it('a client that is closed gives everything back at once', async () => {
      const lock = fresh();
      const [client, other] = [await subject.connect({ sessionTimeoutMs: 60_000 }), await subject.connect()];
      await subject.complete(client.lock(lock).acquire());
      const waiting = other.lock(lock).acquire({ waitMs: 30_000 });
      await subject.until(() => other.status().waits === 1);
      await subject.complete(client.close());
      expect((await subject.complete(waiting)).loss).toBeUndefined();
    });

    it('a leader whose session has expired campaigns again in another one, under a higher token', async () => {
      const client = await subject.connect();
      const stopping = new AbortController();
      const campaign = client.election(fresh()).campaign({ signal: stopping.signal });
      const first = await subject.complete(campaign.next());
      await subject.expire(client);
      const { value: term } = first;
      expect(term?.signal.aborted).toBe(true);
      const second = await subject.complete(campaign.next());
      expect(second.value?.token).toBeGreaterThan(term?.token ?? Infinity);
      stopping.abort('enough');
      const ended = campaign.next().catch((thrown: unknown) => thrown);
      expect(await subject.complete(ended)).toBe('enough');
    });

    it('an ephemeral node goes with its session', async () => {
      const [client, other] = [await subject.connect(), await subject.connect()];
      await subject.complete(client.nodes.create('/mine', '', { ephemeral: true }));
      expect(await subject.complete(other.nodes.exists('/mine'))).toMatchObject({ ephemeralOwner: client.sessionId });
      await subject.expire(client);
      expect(await subject.complete(other.nodes.exists('/mine'))).toBeUndefined();
    });

    it('a watch tells each change once and in order, over a change of leader', async () => {
      const [client, other] = [await subject.connect(), await subject.connect()];
      await subject.complete(other.nodes.create('/watched', '0'));
      const watch: NodeWatch = client.nodes.watch('/watched');
      const seen: number[] = [];
      const watching = (async () => {
        for await (const { index } of watch) {
          seen.push(index);
          if (seen.length === 6) break;
        }
      })();
      await subject.complete(watch.started);
      const made: number[] = [];
      for (let n = 1; n <= 6; n += 1) {
        made.push((await subject.complete(other.nodes.set('/watched', String(n)))).mzxid);
        if (n === 3) await subject.changeLeader();
      }
      await subject.complete(watching);
      expect(seen).toEqual(made);
    });

    it('writes are done once each, and every read sees those that were answered before', async () => {
      const [client, other] = [await subject.connect(), await subject.connect()];
      const counter = client.counter('once');
      const changing = subject.changeLeader();
      const counting = Promise.all(Array.from({ length: 20 }, () => counter.increment()));
      // Looked at below, perhaps long after it has failed.
      counting.catch(() => undefined);
      await changing;
      await subject.complete(counting);
      expect(await subject.complete(other.counter('once').get())).toBe(20);
    });

    it('a transaction is done as a whole or not at all', async () => {
      await subject.agreed();
      const { nodes } = await subject.connect();
      await subject.complete(nodes.create('/a', 'old'));
      const failed = nodes.transaction([set('/a', 'new'), create('/b'), check('/a', { version: 7 })]);
      const error = await subject.complete(failed.catch((thrown: unknown) => thrown));
      expect(error).toBeInstanceOf(TransactionFailedError);
      expect(error).toMatchObject({ operation: 2, code: 'BAD_VERSION' });
      const { data } = await subject.complete(nodes.get('/a'));
      expect(new TextDecoder().decode(data)).toBe('old');
      expect(await subject.complete(nodes.exists('/b'))).toBeUndefined();
      const { index } = await subject.complete(nodes.transaction([set('/a', 'new'), create('/b')]));
      expect(await subject.complete(nodes.exists('/b'))).toMatchObject({ czxid: index });
    });

    sharedLockPromises(() => subject, fresh);
    waitingPromises(() => subject, fresh);
  });
}
