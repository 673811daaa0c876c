/** Changes of nodes at a steady pace, whatever the servers do, of which every index is known. */

import { connect, type Client } from '@holdfast/client';

import { COMMON, parentOf } from './parents.ts';

/** Each is told to 90 clients: what it costs to tell them shall not be what is measured. */
const PACE_MS = 50;
/** Without a leader no more are begun. */
const MAX_UNDER_WAY = 64;
const CHANGE_LIMIT_MS = 120_000;

export class Changes {
  readonly #client: Client;
  readonly #parents: number;
  readonly #byParent = new Map<string, number[]>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #begun = 0;
  #failure: unknown;

  private constructor(client: Client, parents: number) {
    this.#client = client;
    this.#parents = parents;
    this.#timer = setInterval(() => this.#next(), PACE_MS);
  }

  /** @param followers where its session stays: it has no part in the crowd that comes back */
  static async begin(followers: readonly string[], parents: number): Promise<Changes> {
    return new Changes(await connect({ servers: followers, preferLeader: false }), parents);
  }

  /** Of all watches of a client, one tells that this node was created. */
  mark(name: string): string {
    const path = `${COMMON}/${name}`;
    this.#track(
      COMMON,
      async () => (await this.#client.nodes.create(path, '', { timeoutMs: CHANGE_LIMIT_MS })).stat.czxid,
    );
    return path;
  }

  /** Resolves when all that were begun are made: of each parent, the indexes in their order. @throws what a change failed with */
  async end(): Promise<(readonly [parent: string, indexes: readonly number[]])[]> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
    await this.#client.close();
    if (this.#failure !== undefined) throw this.#failure;
    return [...this.#byParent].map(([parent, indexes]) => [parent, indexes.toSorted((a, b) => a - b)]);
  }

  #next(): void {
    if (this.#underWay.size >= MAX_UNDER_WAY) return;
    const parent = parentOf(this.#begun % this.#parents);
    this.#begun += 1;
    this.#track(parent, async () => {
      const { mzxid } = await this.#client.nodes.set(`${parent}/n`, `${this.#begun}`, { timeoutMs: CHANGE_LIMIT_MS });
      return mzxid;
    });
  }

  #track(parent: string, change: () => Promise<number>): void {
    const made = (async () => {
      try {
        const index = await change();
        const indexes = this.#byParent.get(parent);
        if (indexes === undefined) this.#byParent.set(parent, [index]);
        else indexes.push(index);
      } catch (error) {
        this.#failure ??= error;
      }
    })();
    this.#underWay.add(made);
    void made.then(() => this.#underWay.delete(made));
  }
}
