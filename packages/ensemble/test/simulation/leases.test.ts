import {
  connect,
  HoldfastError,
  LockLostError,
  SessionExpiredError,
  TimeoutError,
  type Client,
} from '@holdfast/client';
import { LockServer } from '@holdfast/lockd';
import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';
import type { Runtime } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

const SERVERS = [1, 2, 3];
const CLIENTS = 4;
const FAULTS = 12;
const SEEDS = Number(process.env['HOLDFAST_SIM_SEEDS'] ?? 6);
const FIRST_SEED = Number(process.env['HOLDFAST_SIM_FIRST_SEED'] ?? 1);

/** What everyone saw of one lock, in the order in which it happened in the world. */
class Watch {
  readonly broken: string[] = [];
  grants = 0;
  losses = 0;
  #highest = 0;

  handedOut(client: string, token: number): void {
    this.grants += 1;
    if (token <= this.#highest) this.broken.push(`${client} got token ${token} after ${this.#highest} was handed out`);
    this.#highest = Math.max(this.#highest, token);
  }

  /** `assertHeld` has passed: nobody may have been given the lock since. */
  believes(client: string, token: number): void {
    if (token !== this.#highest)
      this.broken.push(`${client} believes in ${token} after ${this.#highest} was handed out`);
  }
}

class World {
  readonly sim: SimWorld;
  readonly watch = new Watch();
  readonly failures: unknown[] = [];
  readonly unexpected: unknown[] = [];
  readonly rounds = new Map<string, number>();
  running = true;
  /** By how much a clock may run faster or slower. */
  readonly #clockRateError: number;
  readonly #servers = new Map<number, LockServer>();

  constructor(seed: number, clockRateError: number) {
    this.sim = new SimWorld({ seed });
    this.#clockRateError = clockRateError;
  }

  async startServer(id: number): Promise<void> {
    const host = this.sim.host(`s${id}`);
    if (host.state === 'down') host.restart();
    const starting = LockServer.start(
      {
        id,
        clusterId: 'sim',
        clientListen: `s${id}:7100`,
        peerListen: `s${id}:7200`,
        dataDirectory: '/data',
        members: SERVERS.map((member) => ({ id: member, peerAddress: `s${member}:7200` })),
        segmentBytes: 64 * 1024,
      },
      host.runtime,
      { fatal: (error) => this.failures.push(error) },
    );
    this.#servers.set(id, await this.sim.complete(starting, { maxMs: 60_000 }));
  }

  crash(id: number): void {
    this.#servers.delete(id);
    this.sim.host(`s${id}`).crash({ tear: 'random' });
  }

  /** An application on a host of its own: when its session expires it takes a new one, as a restarted service would. */
  async application(name: string): Promise<void> {
    const { runtime } = this.sim.host(name);
    while (this.running) {
      try {
        const client = await connect(
          {
            servers: SERVERS.map((id) => `s${id}:7100`),
            sessionTimeoutMs: 1_000 + runtime.random.integer(3_000),
            connectTimeoutMs: 120_000,
          },
          runtime,
        );
        await this.#work(name, client, runtime);
        await client.close();
      } catch (error) {
        if (!(error instanceof SessionExpiredError)) this.unexpected.push(error);
      }
    }
  }

  async #work(name: string, client: Client, runtime: Runtime): Promise<void> {
    while (this.running) {
      const wait = runtime.random.integer(3) === 0 ? { waitMs: 1 + runtime.random.integer(500) } : { waitMs: 60_000 };
      try {
        const held = await client.lock('a').acquire(wait);
        this.watch.handedOut(name, held.token);
        for (let step = runtime.random.integer(6); step > 0; step -= 1) {
          held.assertHeld();
          this.watch.believes(name, held.token);
          await sleep(runtime, runtime.random.integer(100));
        }
        await held.release();
        this.rounds.set(name, (this.rounds.get(name) ?? 0) + 1);
      } catch (error) {
        if (error instanceof LockLostError) this.watch.losses += 1;
        else if (!(error instanceof TimeoutError)) throw error;
      }
    }
  }

  /** One fault, and its end. */
  async strike(): Promise<void> {
    const random = this.sim.random(`fault at ${this.sim.nowMs}`);
    const server = 1 + random.integer(SERVERS.length);
    const client = `c${1 + random.integer(CLIENTS)}`;
    const lastsMs = random.integer(6_000);
    switch (random.integer(7)) {
      case 0:
        this.crash(server);
        await this.pass(lastsMs);
        await this.startServer(server);
        return;
      case 1:
        for (const id of SERVERS) this.crash(id);
        for (const id of SERVERS) await this.startServer(id);
        return;
      case 2:
        return await this.pause(`s${server}`, lastsMs);
      case 3:
        return await this.pause(client, lastsMs);
      case 4: {
        const others = SERVERS.filter((id) => id !== server);
        this.sim.network.partition([[`s${server}`, client], others.map((id) => `s${id}`)]);
        await this.pass(lastsMs);
        this.sim.network.heal();
        return;
      }
      case 5: {
        const to = `s${1 + random.integer(SERVERS.length)}`;
        const from = random.integer(2) === 0 ? client : `s${server}`;
        this.sim.network.cut(from, to);
        await this.pass(lastsMs);
        this.sim.network.heal(from, to);
        return;
      }
      default:
        this.sim.host(client).jumpWall((random.next() - 0.5) * 20_000);
        this.sim
          .host(random.integer(2) === 0 ? client : `s${server}`)
          .setClockRate(1 + this.#clockRateError * (2 * random.next() - 1));
    }
  }

  async pause(host: string, ms: number): Promise<void> {
    this.sim.host(host).pause();
    await this.pass(ms);
    this.sim.host(host).resume();
  }

  async pass(ms: number): Promise<void> {
    await this.sim.run({ forMs: ms });
  }
}

function sleep(runtime: Runtime, ms: number): Promise<void> {
  return new Promise((resolve) => runtime.clock.setTimer(ms, resolve));
}

async function runWorld(seed: number, clockRateError = MAX_CLOCK_RATE_ERROR): Promise<World> {
  const world = new World(seed, clockRateError);
  for (const id of SERVERS) await world.startServer(id);
  const names = Array.from({ length: CLIENTS }, (_, n) => `c${n + 1}`);
  const all = Promise.all(names.map((name) => world.application(name)));
  const random = world.sim.random('pauses between faults');
  for (let fault = 0; fault < FAULTS; fault += 1) {
    await world.pass(random.integer(1_500));
    await world.strike();
  }
  // Healed, everyone must get the lock again.
  const before = new Map(world.rounds);
  await world.sim.run({
    until: () => names.every((name) => (world.rounds.get(name) ?? 0) > (before.get(name) ?? 0) + 1),
    maxMs: 60_000,
  });
  world.running = false;
  await world.sim.complete(all, { maxMs: 120_000 });
  return world;
}

describe('applications with short sessions, in a world of faults', () => {
  it.each(Array.from({ length: SEEDS }, (_, n) => FIRST_SEED + n))(
    'never believe in a lock that another was given by expiry, and get rising tokens (seed %i)',
    { timeout: 120_000 },
    async (seed) => {
      const world = await runWorld(seed);
      expect(world.watch.broken).toEqual([]);
      expect(world.failures).toEqual([]);
      expect(
        world.unexpected.map((error) => (error instanceof HoldfastError ? `${error.code}: ${error.message}` : error)),
      ).toEqual([]);
      expect(world.watch.grants).toBeGreaterThan(20);
    },
  );

  it(
    'are caught believing so when clocks run much faster or slower than is allowed',
    { timeout: 120_000 },
    async () => {
      const broken: string[] = [];
      for (let seed = 1; seed <= 60 && broken.length === 0; seed += 1) {
        broken.push(...(await runWorld(seed, 0.6)).watch.broken);
      }
      expect(broken).not.toEqual([]);
    },
  );
});
