import { SimWorld } from '../../src/sim/index.ts';
import { clockCompliance } from '../compliance/clock.ts';
import { diskCompliance } from '../compliance/disk.ts';
import type { Fixture } from '../compliance/fixture.ts';
import { httpCompliance } from '../compliance/http.ts';
import { networkCompliance } from '../compliance/network.ts';
import { streamCompliance } from '../compliance/streams.ts';

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

async function simulatedNetwork() {
  const world = new SimWorld({ seed: 'network' });
  return {
    world,
    ...fixtureOf(world),
    server: world.host('server').runtime.network,
    client: world.host('client').runtime.network,
    anyAddress: 'server:0',
    foreignAddress: 'client:0',
  };
}

networkCompliance('simulated', simulatedNetwork);
streamCompliance('simulated', simulatedNetwork);
httpCompliance('simulated', async () => {
  const { world, ...fixture } = await simulatedNetwork();
  return {
    ...fixture,
    later: (callback) => void world.host('server').runtime.clock.setTimer(5, callback),
    ask: async (address, ask) => {
      const { status, headers = {}, body } = await world.host('client').request(address, ask);
      const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
      return { status, headers: Object.fromEntries(lowered), body };
    },
  };
});
