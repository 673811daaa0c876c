/** A few scripted cores that hear each other at once and whose disks are quick. Servers that are not given are down. */

import type { Effect, Message } from '../../../src/core/index.ts';
import type { ScriptedCore } from './scripted-core.ts';

const MAX_MESSAGES = 10_000;

export class Exchange {
  readonly #servers: ReadonlyMap<number, ScriptedCore>;
  readonly #queue: { readonly from: number; readonly to: number; readonly message: Message }[] = [];
  /** Everything that was sent, in order. */
  readonly log: { readonly from: number; readonly to: number; readonly message: Message }[] = [];

  constructor(servers: Record<number, ScriptedCore>) {
    this.#servers = new Map(Object.entries(servers).map(([id, server]) => [Number(id), server]));
  }

  /** Delivers what these effects of a server send, and all that follows, until nothing is under way. */
  deliverAll(from: number, effects: readonly Effect[]): void {
    this.#gather(from, effects);
    for (let count = 0; count < MAX_MESSAGES; count += 1) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      const server = this.#servers.get(next.to);
      if (server !== undefined) this.#gather(next.to, server.receive(next.from, next.message));
    }
    throw new Error('the servers never come to rest');
  }

  /** Lets all their timers run, one server after the other. */
  elapse(ms: number): void {
    for (const [id, server] of this.#servers) this.deliverAll(id, server.elapse(ms));
  }

  #gather(from: number, effects: readonly Effect[]): void {
    let more: readonly Effect[] = effects;
    while (more.length > 0) {
      for (const effect of more) {
        if (effect.type !== 'send') continue;
        const sending = { from, to: effect.to, message: effect.message };
        this.#queue.push(sending);
        this.log.push(sending);
      }
      more = more.some(({ type }) => type === 'persist') ? (this.#servers.get(from)?.durable() ?? []) : [];
    }
  }
}
