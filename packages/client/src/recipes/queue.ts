/**
 * A queue of items for any number of consumers. Who takes an item claims it by an ephemeral node, so that the item of a dead consumer is
 * free again when its session has ended. The claim's log index is a fencing token: higher than that of every earlier claim of the item.
 */

import { LockLostError, TransactionFailedError } from '../errors.ts';
import type { Incarnation, Present } from '../incarnations/incarnation.ts';
import { checkOptionNames } from '../option-names.ts';
import type { Nodes, ReadOptions } from '../nodes.ts';
import type { CallOptions } from '../session/call.ts';
import type { NodeData } from '../tree/node-arguments.ts';
import { check, create, remove } from '../tree/transaction.ts';
import { follow } from './follow.ts';
import { createBelow, createDirectory, ifThere, recipePath, unlessGone } from './recipe-tree.ts';
import { QueueItem } from './queue-item.ts';
import { checkWaitOptions, orUndone, withinLimits, type WaitOptions } from './waiting.ts';

/**
 * What a consumer of a queue takes at a time, and what ends it.
 *
 * @example
 * for await (const item of client.queue('mails').consume({ signal: stop.signal })) await item.done();
 */
export interface ConsumeOptions {
  /** The iterator throws its reason; an item that is under way is not given back by it. */
  readonly signal?: AbortSignal;
}

const CONSUME_OPTIONS: Record<keyof ConsumeOptions, true> = { signal: true };
/** Items that are looked at together: with so many consumers and fewer, one look finds a free one. */
const PAGE_ITEMS = 100;
const UNLIMITED = { timeoutMs: Number.POSITIVE_INFINITY };

/**
 * A queue whose items come again when their consumer dies. Made by `client.queue`.
 *
 * @example
 * await client.queue('mails').put('one');
 * for await (const item of client.queue('mails').consume()) await item.done();
 */
export class Queue {
  readonly name: string;
  readonly #present: Present;
  readonly #directory: string;

  /** @internal */
  constructor(name: string, present: Present) {
    this.name = name;
    this.#directory = recipePath('queues', name);
    this.#present = present;
  }

  /** Puts an item at the end; it stays until a consumer is done with it. Gives its id. */
  async put(data: NodeData, options: CallOptions = {}): Promise<string> {
    const { path } = await createBelow(this.#present().nodes, `${this.#items}/`, data, {
      ...options,
      sequential: true,
    });
    return path.slice(path.lastIndexOf('/') + 1);
  }

  /** How many items there are, those that are under way included. */
  async size(options: CallOptions = {}): Promise<number> {
    return (await this.#present().nodes.exists(this.#items, options))?.numChildren ?? 0;
  }

  /** Waits for an item that nobody else has, the first one; of several consumers, each gets another. */
  async take(options: WaitOptions = {}): Promise<QueueItem> {
    checkWaitOptions('take', options);
    const { clock } = this.#present().session;
    return await withinLimits(clock, `queue "${this.name}"`, options, (signal, seen) => this.#take(signal, seen));
  }

  /**
   * One item after another. Say `await item.done()` of each; one that is not done when the next is asked for, or the loop is left, goes back
   * to its place in the queue.
   *
   * @example
   * for await (const item of queue.consume()) {
   *   await work(item.data, item.token);
   *   await item.done();
   * }
   */
  async *consume(options: ConsumeOptions = {}): AsyncGenerator<QueueItem, void, undefined> {
    checkOptionNames('consume', options, CONSUME_OPTIONS);
    for (;;) {
      const item = await this.take(options);
      try {
        yield item;
      } finally {
        await item.giveBack();
      }
    }
  }

  get #items(): string {
    return `${this.#directory}/items`;
  }

  get #claims(): string {
    return `${this.#directory}/claims`;
  }

  async #take(signal: AbortSignal, seen: (state: string) => void): Promise<QueueItem> {
    const looks = follow(
      this.#present,
      this.#directory,
      async (nodes, how, incarnation) => ({ incarnation, free: await this.#free(nodes, how) }),
      signal,
    );
    for await (const { incarnation, free } of looks) {
      seen(free.length === 0 ? 'it has no item that nobody else has' : 'others were quicker');
      for (const id of free) {
        const item = await this.#claim(incarnation, id, signal);
        if (item !== undefined) return item;
      }
    }
    throw new LockLostError(`queue "${this.name}"`, 'closed');
  }

  /** Items without a claim, in order; of the first page that has one. */
  async #free(nodes: Nodes, options: ReadOptions): Promise<readonly string[]> {
    const claims = await ifThere(nodes.children(this.#claims, options));
    const claimed = new Set(claims?.names);
    let after = '';
    for (;;) {
      const page = await ifThere(nodes.childrenPage(this.#items, { ...options, after, limit: PAGE_ITEMS }));
      const names = page?.names ?? [];
      const free = names.filter((name) => !claimed.has(name));
      if (free.length > 0 || page?.more !== true) return free;
      after = names.at(-1) ?? '';
    }
  }

  /** Undefined when it is somebody else's by now, or done. */
  async #claim(incarnation: Incarnation, id: string, signal: AbortSignal): Promise<QueueItem | undefined> {
    const { nodes } = incarnation;
    const [item, claim] = [`${this.#items}/${id}`, `${this.#claims}/${id}`];
    for (;;) {
      const claiming = nodes.transaction([check(item), create(claim, '', { ephemeral: true })], UNLIMITED);
      // Items do not change: what is read beside the claim is what was claimed.
      const both = Promise.all([claiming, ifThere(nodes.get(item, { consistency: 'session', ...UNLIMITED }))]);
      try {
        const [{ index }, node] = await orUndone(signal, both, () => unlessGone(nodes.delete(claim, UNLIMITED)));
        if (node === undefined) return undefined;
        const settle = (done: boolean): Promise<unknown> =>
          done ? nodes.transaction([remove(claim), remove(item)]) : unlessGone(nodes.delete(claim, UNLIMITED));
        return new QueueItem({ id, data: node.data, token: index }, { queue: this.name, incarnation, settle });
      } catch (error) {
        if (!(error instanceof TransactionFailedError)) throw error;
        if (error.path === item || error.code !== 'NOT_FOUND') return undefined;
        await createDirectory(nodes, this.#claims, { ...UNLIMITED, signal });
      }
    }
  }
}
