/**
 * Sessions that end, each in its own way. What they had goes with them in one step: the next in line is granted the lock, the ephemeral
 * node is gone, and the owner is told why.
 */

import { SessionExpiredError, type Client, type HeldLock, type OperatorClient } from '@holdfast/client';
import { expect } from 'vitest';
import { until } from '../lockd-process.ts';
import { sessionsLabelled, type Clients, type Opened } from './clients.ts';
import { expectRising, lockIsFree, pending, refusal, waitersBecome } from './expectations.ts';
import type { Work } from './work.ts';

interface Ending extends Opened {
  readonly held: HeldLock;
}

abstract class EndingSessions implements Work {
  abstract readonly name: string;
  protected clients!: Clients;
  protected successor!: Client;
  protected operator!: OperatorClient;
  readonly #tokens: number[] = [];
  readonly #label: string;
  readonly #lock: string;
  readonly #top: string;
  readonly #sessionTimeoutMs: number;
  #rounds = 0;

  constructor(label: string, sessionTimeoutMs = 10_000) {
    this.#label = label;
    this.#lock = `upgrade-${label}`;
    this.#top = `/upgrade-${label}`;
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  async begin(clients: Clients): Promise<void> {
    this.clients = clients;
    this.successor = (await clients.open(`after the ${this.#label}`)).client;
    this.operator = await clients.operator();
    await this.successor.nodes.create(this.#top);
  }

  async round(): Promise<void> {
    const opened = await this.clients.open(this.#label, { sessionTimeoutMs: this.#sessionTimeoutMs });
    try {
      await this.#end(opened);
    } finally {
      await this.clients.close(opened.client);
    }
    this.#rounds += 1;
  }

  async check(): Promise<void> {
    expectRising(this.#tokens, 2 * this.#rounds);
    expect((await this.successor.nodes.children(this.#top)).names, 'nodes of sessions that ended').toEqual([]);
    expect(await sessionsLabelled(this.successor, this.#label), 'sessions that ended').toEqual([]);
    await lockIsFree(this.successor, this.#lock);
  }

  /** Ends the session. */
  protected abstract end(ending: Ending): Promise<void>;
  /** What its owner knows of it, when another has its lock. */
  protected abstract told(ending: Ending): Promise<void>;

  async #end({ client, way }: Opened): Promise<void> {
    const held = await client.lock(this.#lock).acquire();
    const path = `${this.#top}/of-${client.sessionId}`;
    await client.nodes.create(path, '', { ephemeral: true });
    const next = pending(this.successor.lock(this.#lock).acquire());
    await waitersBecome(this.successor, this.#lock, [this.successor.sessionId]);
    const ending = { client, way, held };
    // A hold whose lease is over already is given back by its client, perhaps before the session ends.
    const inOneStep = held.remainingMs() > 0;
    await this.end(ending);
    const successor = await next;
    this.#tokens.push(held.token, successor.token);
    const isGone = async (): Promise<boolean> => (await this.successor.nodes.exists(path)) === undefined;
    if (inOneStep) expect(await isGone(), 'the ephemeral node is gone with the hold').toBe(true);
    else await until(isGone);
    await this.told(ending);
    expect(() => held.assertHeld(), 'the hold').toThrow('is not held any more');
    await successor.release();
  }
}

export class ClosedSessions extends EndingSessions {
  readonly name = 'sessions that are closed';

  constructor() {
    super('closed');
  }

  protected async end({ client }: Ending): Promise<void> {
    await this.clients.close(client);
  }

  protected async told({ client, held }: Ending): Promise<void> {
    expect([client.state, held.loss?.reason], 'state and loss').toEqual(['closed', 'closed']);
    expect(await refusal(client.nodes.get('/'))).toBe('CLIENT_CLOSED');
  }
}

/** The client is cut off until the ensemble has given its lock away. */
export class ExpiringSessions extends EndingSessions {
  readonly name = 'sessions that expire';

  constructor() {
    super('expired', 1_000);
  }

  /** A session that ends before it is cut off, on a machine that is too busy for so short a timeout, shows nothing. */
  override async round(): Promise<void> {
    await super.round().catch((error: unknown) => {
      if (error instanceof SessionExpiredError) return this.round();
      throw error;
    });
  }

  protected end({ way }: Ending): Promise<void> {
    way.cut();
    return Promise.resolve();
  }

  protected async told({ client, way, held }: Ending): Promise<void> {
    // Its lease was over before the ensemble's.
    expect([held.signal.aborted, held.loss?.reason], 'the loss').toEqual([true, 'expired']);
    way.mend();
    await until(() => client.state === 'expired');
    expect(await refusal(client.nodes.create('/upgrade-too-late'))).toBe('SESSION_EXPIRED');
  }
}

export class ClosedByOperator extends EndingSessions {
  readonly name = 'sessions that an operator closes';
  /** Owners who were told that it was an operator. */
  #revoked = 0;

  constructor() {
    super('closed-by-operator');
  }

  override async check(): Promise<void> {
    await super.check();
    expect(this.#revoked, 'losses of which it was said that an operator did it').toBeGreaterThan(0);
  }

  protected async end({ client }: Ending): Promise<void> {
    await this.operator.admin.closeSession(client.sessionId);
    expect(await refusal(this.operator.admin.closeSession(client.sessionId))).toBe('NOT_FOUND');
  }

  protected async told({ client, held }: Ending): Promise<void> {
    await until(() => client.state === 'expired');
    // Who comes back from elsewhere finds no session, and nobody knows any more why.
    expect(['revoked', 'expired'], 'the loss').toContain(held.loss?.reason);
    if (held.loss?.reason === 'revoked') this.#revoked += 1;
    expect(await refusal(client.nodes.create('/upgrade-too-late'))).toBe('SESSION_EXPIRED');
  }
}
