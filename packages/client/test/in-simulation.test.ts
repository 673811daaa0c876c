import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { LockLostError, TimeoutError } from '../src/errors.ts';
import { connect } from '../src/index.ts';
import { FakeEnsemble, type FakeHost } from './support/fake-ensemble.ts';

const CLIENTS = 4;
const ROUNDS = 25;

interface Outcome {
  readonly traceHash: string;
  readonly ensemble: FakeEnsemble;
  readonly grants: readonly number[];
  readonly unexpected: readonly unknown[];
}

/** Clients that contend for one lock while servers pause, connections break and links are cut. */
async function contend(seed: number): Promise<Outcome> {
  const world = new SimWorld({ seed });
  const starting = FakeEnsemble.start<FakeHost>({
    host: (name) => ({ address: name, runtime: world.host(name).runtime }),
    soon: (run) => world.after(0, run),
  });
  const ensemble = await world.complete(starting);
  const grants: number[] = [];
  const unexpected: unknown[] = [];
  const application = async (n: number): Promise<void> => {
    const { runtime } = world.host(`application-${n}`);
    const client = await connect(
      { servers: ensemble.addresses, connectTimeoutMs: 60_000, closeTimeoutMs: 60_000 },
      runtime,
    );
    for (let round = 0; round < ROUNDS; round += 1) {
      const waitMs = runtime.random.integer(4) === 0 ? runtime.random.integer(400) + 1 : 60_000;
      try {
        await client.lock('a').withLock(
          async (held) => {
            grants.push(held.token);
            await new Promise<void>((resolve) => runtime.clock.setTimer(runtime.random.integer(80), resolve));
          },
          { waitMs },
        );
      } catch (error) {
        if (!(error instanceof TimeoutError || error instanceof LockLostError)) unexpected.push(error);
      }
    }
    await client.close();
  };
  let running = true;
  disturb(world, ensemble, () => running);
  const all = Promise.all(Array.from({ length: CLIENTS }, (_, n) => application(n)));
  await world.complete(all, { maxMs: 600_000 });
  running = false;
  await world.run({ forMs: 5_000 });
  return { traceHash: world.traceHash, ensemble, grants, unexpected };
}

/** A fault now and then, and its end a little later. */
function disturb(world: SimWorld, ensemble: FakeEnsemble, running: () => boolean): void {
  const random = world.random('faults');
  const strike = (): void => {
    if (!running()) return;
    const server = ensemble.server(1 + random.integer(3));
    const name = server.host.address;
    const lastsMs = 20 + random.integer(2_500);
    switch (random.integer(4)) {
      case 0:
        server.disconnectAll();
        break;
      case 1:
        world.host(name).pause();
        world.after(lastsMs, () => world.host(name).resume());
        world.after(lastsMs, strike);
        return;
      case 2: {
        const application = `application-${random.integer(CLIENTS)}`;
        world.network.cut(application, name);
        world.after(lastsMs, () => world.network.heal(application, name));
        break;
      }
      default:
        ensemble.setLeader(server.id);
    }
    world.after(random.integer(1_500), strike);
  };
  world.after(500, strike);
}

describe('clients in a world of faults', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'end every call as they should, and leave nothing behind (seed %i)',
    async (seed) => {
      const { ensemble, grants, unexpected } = await contend(seed);
      expect(unexpected).toEqual([]);
      expect(grants.length).toBeGreaterThan((CLIENTS * ROUNDS) / 2);
      expect(new Set(grants).size).toBe(grants.length);
      expect(ensemble.queue('a')).toEqual([]);
      expect([...ensemble.sessions.keys()]).toEqual([]);
      const numbers = new Map<number, number[]>();
      for (const { session, number } of ensemble.applied)
        numbers.set(session, [...(numbers.get(session) ?? []), number]);
      for (const applied of numbers.values()) expect(applied).toEqual(applied.map((_, position) => position + 1));
    },
  );

  it('take the same course when the seed is the same', async () => {
    expect((await contend(99)).traceHash).toBe((await contend(99)).traceHash);
  });
});
