/** Transactions, containers and times to live: the version before has them, too, and they are the same under both. */

import { create, set, type Client } from '@holdfast/client';
import { expect } from 'vitest';
import type { Clients } from './clients.ts';
import { textOf } from './expectations.ts';
import type { Work } from './work.ts';

const TTL_MS = 600_000;

export class UsingNodesOfAllKinds implements Work {
  readonly name = 'transactions, containers and times to live';
  readonly #top = '/upgrade-kinds';
  #client!: Client;
  #other!: Client;
  #rounds = 0;

  async begin(clients: Clients): Promise<void> {
    this.#client = (await clients.open('makes nodes of all kinds')).client;
    this.#other = (await clients.open('looks at nodes of all kinds')).client;
    await this.#client.nodes.create(this.#top, '0');
  }

  async round(): Promise<void> {
    const path = `${this.#top}/made`;
    const { nodes } = this.#client;
    await nodes.transaction([create(path), set(this.#top, String(this.#rounds + 1))]);
    await nodes.create(`${path}-container`, '', { container: true });
    await nodes.create(`${path}-ttl`, '', { ttlMs: TTL_MS });
    const made = ['made', 'made-container', 'made-ttl'];
    expect((await this.#other.nodes.children(this.#top)).names, 'what is there').toEqual(made);
    expect((await this.#other.nodes.get(`${path}-ttl`)).ttlMs, 'the time to live').toBe(TTL_MS);
    expect((await this.#other.nodes.get(`${path}-container`)).container, 'a container').toBe(true);
    for (const name of made) await nodes.delete(`${this.#top}/${name}`);
    this.#rounds += 1;
    await this.check();
  }

  async check(): Promise<void> {
    const { data } = await this.#other.nodes.get(this.#top);
    expect(textOf(data), 'how many transactions were done').toBe(String(this.#rounds));
  }
}
