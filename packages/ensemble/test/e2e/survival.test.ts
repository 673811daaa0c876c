import { connect, type Client } from '@holdfast/client';
import type { LocalEnsemble } from '@holdfast/ensemble';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startScratchEnsemble } from './scratch-ensemble.ts';

const ROUNDS = 10;

/** What an application sees: it takes a lock, writes down a node under it, gives it back, again and again. */
class Application {
  readonly tokens: number[] = [];
  readonly acknowledged: string[] = [];
  error: unknown;
  #running = true;
  readonly #client: Client;
  readonly #done: Promise<void>;

  constructor(client: Client) {
    this.#client = client;
    this.#done = this.#work().catch((error: unknown) => {
      this.error = error;
    });
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  /** Resolves when it has got an answer to something that it asked after this call. */
  async progress(): Promise<void> {
    const before = this.acknowledged.length;
    await expect.poll(() => this.error ?? this.acknowledged.length, { timeout: 20_000, interval: 10 }).not.toBe(before);
    await expect
      .poll(() => this.error !== undefined || this.acknowledged.length > before + 1, { timeout: 20_000, interval: 10 })
      .toBe(true);
  }

  async #work(): Promise<void> {
    const lock = this.#client.lock('survival');
    while (this.#running) {
      const n = this.acknowledged.length;
      const held = await lock.acquire();
      this.tokens.push(held.token);
      const { path } = await this.#client.nodes.create('/survival/n-', Buffer.from(`${n}`), { sequential: true });
      this.acknowledged.push(path);
      await held.release();
    }
  }
}

describe('an ensemble whose processes are killed at random', () => {
  let ensemble: LocalEnsemble;
  let stop: () => Promise<void>;
  let client: Client;

  beforeAll(async () => {
    ({ ensemble, stop } = await startScratchEnsemble());
    client = await connect({ servers: ensemble.clientAddresses, sessionTimeoutMs: 30_000 });
    await client.nodes.create('/survival');
  });

  afterAll(async () => {
    await client?.close();
    await stop?.();
  });

  it(
    `loses nothing that it acknowledged and shows the application no error, in ${ROUNDS} rounds`,
    { timeout: 300_000 },
    async () => {
      const application = new Application(client);
      await application.progress();
      for (let round = 0; round < ROUNDS; round += 1) {
        const victims = await strike(round);
        if (victims.length === 1) await application.progress();
        await Promise.all(victims.map((id) => ensemble.restart(id)));
        await application.progress();
        expect(application.error, `round ${round}, victims ${victims.join(', ')}`).toBeUndefined();
      }
      await application.stop();
      expect(application.error).toBeUndefined();

      const rising = application.tokens.every((token, n) => n === 0 || token > (application.tokens[n - 1] ?? 0));
      expect(rising, 'tokens rise').toBe(true);
      const { names } = await client.nodes.children('/survival');
      expect(names.map((name) => `/survival/${name}`)).toEqual(application.acknowledged);
      const written = await Promise.all(
        application.acknowledged.map(async (path) => (await client.nodes.get(path)).data),
      );
      expect(written.map((data) => Number(Buffer.from(data).toString()))).toEqual(written.map((_, n) => n));
    },
  );

  /** Every fourth round all servers at once, else the leader or any one of them. */
  async function strike(round: number): Promise<number[]> {
    if (round % 4 === 3) {
      await ensemble.killAll();
      return [...ensemble.servers];
    }
    const leader = await ensemble.waitForLeader();
    const victim = round % 2 === 0 ? leader : 1 + Math.floor(Math.random() * ensemble.servers.length);
    await ensemble.kill(victim);
    return [victim];
  }
});
