import { SimWorld } from '../../src/sim/index.ts';
import { clockCompliance } from '../compliance/clock.ts';
import { diskCompliance } from '../compliance/disk.ts';
import type { Fixture } from '../compliance/fixture.ts';
import { networkCompliance } from '../compliance/network.ts';

function fixtureOf(world: SimWorld): Fixture {
  return {
    complete: (promise) => world.complete(promise),
    until: (condition) => world.run({ until: condition, maxMs: 10_000 }),
    teardown: () => Promise.resolve(),
  };
}

clockCompliance('simulated', async () => {
  const world = new SimWorld({ seed: 'clock' });
  return { ...fixtureOf(world), clock: world.host('a').runtime.clock };
});

diskCompliance('simulated', async () => {
  const world = new SimWorld({ seed: 'disk' });
  const { disk } = world.host('a').runtime;
  await world.complete(disk.makeDirectory('/data'));
  return { ...fixtureOf(world), disk, directory: '/data' };
});

networkCompliance('simulated', async () => {
  const world = new SimWorld({ seed: 'network' });
  return {
    ...fixtureOf(world),
    server: world.host('server').runtime.network,
    client: world.host('client').runtime.network,
    anyAddress: 'server:0',
    foreignAddress: 'client:0',
  };
});
