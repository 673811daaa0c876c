import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { connect } from '../../src/index.ts';
import { FakeEnsemble, type FakeHost } from '../support/fake-ensemble.ts';

const CHANGES = 300;

interface Told {
  readonly changes: readonly string[];
  readonly events: readonly string[];
  readonly connections: number;
}

/** A client that watches everything below a node while its connections break and links are cut; another changes nodes. */
async function watchThroughFaults(seed: number): Promise<Told> {
  const world = new SimWorld({ seed });
  const ensemble = await world.complete(
    FakeEnsemble.start<FakeHost>({
      host: (name) => ({ address: name, runtime: world.host(name).runtime }),
      soon: (run) => world.after(0, run),
    }),
  );
  const options = { servers: ensemble.addresses, connectTimeoutMs: 60_000, requestTimeoutMs: 60_000 };
  const [reader, writer] = [world.host('reader').runtime, world.host('writer').runtime];
  const watcher = await world.complete(connect(options, reader));
  const changer = await world.complete(connect(options, writer));
  const watch = watcher.nodes.watch('/', { recursive: true });
  await world.complete(watch.started);
  const events: string[] = [];
  const listening = (async () => {
    for await (const event of watch) {
      events.push(`${event.type} ${event.path} ${event.index}`);
      if (event.path === '/last') return;
    }
  })();
  let running = true;
  const random = world.random('faults');
  const strike = (): void => {
    if (!running) return;
    const server = ensemble.server(1 + random.integer(3));
    const { address } = server.host;
    const lastsMs = 20 + random.integer(250);
    if (random.integer(2) === 0) server.disconnectAll();
    else {
      world.network.cut('reader', address);
      world.after(lastsMs, () => world.network.heal('reader', address));
    }
    world.after(lastsMs, strike);
  };
  strike();
  const changing = (async () => {
    for (let n = 0; n < CHANGES; n += 1) {
      const path = `/${n % 5}`;
      await ((await changer.nodes.exists(path)) === undefined
        ? changer.nodes.create(path)
        : n % 3 === 0
          ? changer.nodes.delete(path)
          : changer.nodes.set(path, 'x'));
      await new Promise<void>((resolve) => writer.clock.setTimer(writer.random.integer(60), resolve));
    }
  })();
  await world.complete(changing, { maxMs: 600_000 });
  running = false;
  await world.complete(changer.nodes.create('/last'), { maxMs: 60_000 });
  await world.complete(listening, { maxMs: 60_000 });
  const changes = ensemble.past.changes.map(({ type, path, index }) => `${type} ${path} ${index}`);
  return { changes, events, connections: ensemble.count('watch') };
}

describe('a client that watches while its connections break', () => {
  it.each([1, 2, 3, 4, 5, 6])('is told every change once and in order (seed %i)', async (seed) => {
    const { changes, events, connections } = await watchThroughFaults(seed);
    expect(events).toEqual(changes);
    expect(connections).toBeGreaterThan(3);
  });
});
