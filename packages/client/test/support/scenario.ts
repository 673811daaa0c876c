/** A fake ensemble, a host for clients, and clients on it. */

import type { Client } from '../../src/client.ts';
import { openClient } from '../../src/open-client.ts';
import { openOperator } from '../../src/operator/open-operator.ts';
import type { OperatorClient } from '../../src/operator/operator-client.ts';
import type { OperatorOptions } from '../../src/operator/operator-options.ts';
import type { ConnectOptions } from '../../src/options.ts';
import type { ClientRuntime } from '../../src/session/session.ts';
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
  /** Does not wait for it. */
  readonly operating: (options?: Partial<OperatorOptions>) => Promise<OperatorClient>;
}

export async function scenario(options: { readonly servers?: number } = {}): Promise<Scenario> {
  const world = new TestWorld();
  const ensemble = await FakeEnsemble.start(world, options.servers);
  const host = world.host('application');
  let clients = 0;
  // Each client has randomness of its own, hence its own secret.
  const runtime = (): ClientRuntime => {
    clients += 1;
    return { ...host.runtime, random: world.host(`client-${clients}`).runtime.random };
  };
  const connecting = (overrides: Partial<ConnectOptions> = {}): Promise<Client> =>
    openClient({ servers: ensemble.addresses, ...overrides }, runtime);
  const operating = (overrides: Partial<OperatorOptions> = {}): Promise<OperatorClient> =>
    openOperator({ servers: ensemble.addresses, ...overrides }, runtime);
  const connect = (overrides?: Partial<ConnectOptions>): Promise<Client> => world.settled(connecting(overrides));
  return { world, ensemble, host, connecting, operating, connect };
}
