/** A watch that goes on while every server is replaced: what it tells is what was changed, in order, each change once. */

import type { Client, NodeWatch } from '@holdfast/client';
import { expect } from 'vitest';
import { until } from '../lockd-process.ts';
import type { Clients } from './clients.ts';
import type { Work } from './work.ts';

/** How many of the nodes that were made last stay. */
const KEPT = 3;

export class WatchingThroughout implements Work {
  readonly name = 'a watch that goes on';
  readonly #top = '/upgrade-watched';
  #watcher!: Client;
  #writer!: Client;
  #watch!: NodeWatch;
  /** `created /a`, as it was told and as it was done. */
  #told: string[] = [];
  #done: string[] = [];
  readonly #present: string[] = [];
  #failure: unknown;
  #lastIndex = 0;
  /** Servers that were just started may not remember what happened. */
  #resyncs = 0;
  #exact = 0;
  #rounds = 0;
  #marks = 0;

  async begin(clients: Clients): Promise<void> {
    this.#watcher = (await clients.open('watches')).client;
    this.#writer = (await clients.open('changes what is watched')).client;
    await this.#writer.nodes.create(this.#top);
    // The server that it watches at has the node, and so tells nothing of its creation.
    await this.#watcher.nodes.get(this.#top);
    this.#watch = this.#watcher.nodes.watch(this.#top, { recursive: true, onMissed: 'resync' });
    await this.#watch.started;
    this.#listen().catch((error: unknown) => (this.#failure = error));
  }

  async round(): Promise<void> {
    const resyncs = this.#resyncs;
    const { nodes } = this.#writer;
    const path = `${this.#top}/n-${this.#rounds}`;
    await nodes.create(path);
    this.#done.push(`created ${path}`);
    this.#present.push(path);
    await nodes.set(path, 'x');
    this.#done.push(`changed ${path}`);
    if (this.#present.length > KEPT) {
      const oldest = this.#present.shift() ?? '';
      await nodes.delete(oldest);
      this.#done.push(`deleted ${oldest}`);
    }
    this.#rounds += 1;
    await this.#compare(resyncs);
  }

  async check(): Promise<void> {
    await this.#compare(this.#resyncs);
    expect(this.#exact, 'rounds of which every change was told').toBeGreaterThan(0);
    await this.#watch.return();
  }

  async #compare(resyncs: number): Promise<void> {
    let before: number;
    do {
      before = this.#resyncs;
      await this.#tellsUpToHere(before);
    } while (this.#resyncs > before);
    const told = this.#told.splice(0);
    const done = this.#done.splice(0);
    if (this.#resyncs > resyncs) return;
    expect(told, 'the changes that the watch has told').toEqual(done);
    this.#exact += 1;
  }

  /** Or has lost some of it. */
  async #tellsUpToHere(resyncs: number): Promise<void> {
    this.#marks += 1;
    const last = `${this.#top}/last-${this.#marks}`;
    await this.#writer.nodes.create(last);
    await this.#writer.nodes.delete(last);
    this.#done.push(`created ${last}`, `deleted ${last}`);
    const hasTold = (): boolean => this.#told.at(-1) === `deleted ${last}` || this.#resyncs > resyncs;
    await until(() => this.#failure !== undefined || hasTold());
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #listen(): Promise<void> {
    for await (const event of this.#watch) {
      expect(event.index, 'the index of an event').toBeGreaterThanOrEqual(this.#lastIndex);
      this.#lastIndex = event.index;
      if (event.type === 'resync') this.#resyncs += 1;
      else this.#told.push(`${event.type} ${event.path}`);
    }
  }
}
