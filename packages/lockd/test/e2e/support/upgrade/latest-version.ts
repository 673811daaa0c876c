/**
 * What only the latest state version has: refused by an error that says what to do, all of it and without effect, until every server knows
 * it; and done from then on.
 */

import { create, HoldfastError, set, type Client } from '@holdfast/client';
import { expect } from 'vitest';
import type { Clients } from './clients.ts';
import { textOf } from './expectations.ts';
import type { Work } from './work.ts';

const TTL_MS = 600_000;

export class UsingTheLatestVersion implements Work {
  readonly name = 'what only the latest state version has';
  readonly #top = '/upgrade-latest';
  #client!: Client;
  #other!: Client;
  /** Rounds. */
  refused = 0;
  done = 0;

  async begin(clients: Clients): Promise<void> {
    this.#client = (await clients.open('uses the latest version')).client;
    this.#other = (await clients.open('looks at what that did')).client;
    await this.#client.nodes.create(this.#top, '0');
  }

  async round(): Promise<void> {
    const path = `${this.#top}/made`;
    const { nodes } = this.#client;
    const did = [
      await this.#tried(nodes.transaction([create(path), set(this.#top, String(this.done + 1))])),
      await this.#tried(nodes.create(`${path}-container`, '', { container: true })),
      await this.#tried(nodes.create(`${path}-ttl`, '', { ttlMs: TTL_MS })),
    ];
    const [transaction = false, container = false, ttl = false] = did;
    // The version may have been raised between two of them, and is never taken back.
    const inOrder = (container || !transaction) && (ttl || !container);
    expect(inOrder, `transaction, container and time to live: ${did.join(', ')}`).toBe(true);
    const names = (await this.#other.nodes.children(this.#top)).names;
    const made = [
      ...(transaction ? ['made'] : []),
      ...(container ? ['made-container'] : []),
      ...(ttl ? ['made-ttl'] : []),
    ];
    expect(names, 'what is there').toEqual(made);
    if (ttl) expect((await this.#other.nodes.get(`${path}-ttl`)).ttlMs, 'the time to live').toBe(TTL_MS);
    if (container) expect((await this.#other.nodes.get(`${path}-container`)).container, 'a container').toBe(true);
    for (const name of made) await nodes.delete(`${this.#top}/${name}`);
    if (transaction) this.done += 1;
    else this.refused += 1;
    await this.check();
  }

  async check(): Promise<void> {
    const { data } = await this.#other.nodes.get(this.#top);
    expect(textOf(data), 'how many transactions were done').toBe(String(this.done));
  }

  /** False when it is refused for the version; it was not before then. */
  async #tried(call: Promise<unknown>): Promise<boolean> {
    try {
      await call;
      return true;
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'UNSUPPORTED') throw error;
      expect(error.message, 'what to do').toMatch(/upgrade all its servers, then try again/);
      expect(this.done, 'transactions that were done before one was refused').toBe(0);
      return false;
    }
  }
}
