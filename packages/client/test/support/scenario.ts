/** A fake ensemble, a host for clients, and clients on it. */

import type { Client } from '../../src/client.ts';
import { openClient } from '../../src/open-client.ts';
import type { ConnectOptions } from '../../src/options.ts';
import { FakeEnsemble } from './fake-ensemble.ts';
import { TestWorld, type TestHost } from './test-world.ts';

export interface Scenario {
  readonly world: TestWorld;
  readonly ensemble: FakeEnsemble<TestHost>;
  /** The machine on which the clients run. */
  readonly host: TestHost;
  readonly connect: (options?: Partial<ConnectOptions>) => Promise<Client>;
  /** Does not wait for it. */
  readonly connecting: (options?: Partial<ConnectOptions>) => Promise<Client>;
}

export async function scenario(options: { readonly servers?: number } = {}): Promise<Scenario> {
  const world = new TestWorld();
  const ensemble = await FakeEnsemble.start(world, options.servers);
  const host = world.host('application');
  let clients = 0;
  const connecting = (overrides: Partial<ConnectOptions> = {}): Promise<Client> => {
    clients += 1;
    // Each client has randomness of its own, hence its own secret.
    const { random } = world.host(`client-${clients}`).runtime;
    return openClient({ servers: ensemble.addresses, ...overrides }, () => ({ ...host.runtime, random }));
  };
  return { world, ensemble, host, connecting, connect: (overrides) => world.settled(connecting(overrides)) };
}
