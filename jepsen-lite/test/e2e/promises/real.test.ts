import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Client } from '@holdfast/client';
import { findFreeBasePort, LocalEnsemble, waitUntil } from '@holdfast/ensemble';
import { DialError, type Connection, type Network } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { promisesOf, type Subject } from '../../promises/suite.ts';

const SESSION_TIMEOUT_MS = 3_000;
const MAX_WAIT_MS = 60_000;

/** The way of one client to the servers, which can be cut. */
class Cable {
  readonly #network: Network;
  readonly #connections = new Set<Connection>();
  #cut = false;

  constructor(network: Network) {
    this.#network = network;
  }

  get network(): Network {
    return {
      ...this.#network,
      dial: async (options) => {
        if (this.#cut) throw new DialError('failed', 'the cable is cut');
        const connection = await this.#network.dial(options);
        this.#connections.add(connection);
        if (this.#cut) connection.destroy();
        return connection;
      },
    };
  }

  cut(): void {
    this.#cut = true;
    for (const connection of this.#connections) connection.destroy();
    this.#connections.clear();
  }

  mend(): void {
    this.#cut = false;
  }
}

async function real(): Promise<Subject> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'holdfast-promises-'));
  const ensemble = await LocalEnsemble.start({
    dataDirectory,
    basePort: await findFreeBasePort(3),
    fencedKv: false,
    readyTimeoutMs: 100_000,
  });
  const cables = new Map<Client, Cable>();
  const servers = ensemble.clientAddresses;
  const operator = await connect({ servers, label: 'operator', sessionTimeoutMs: 60_000 });
  const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
    const held = await waitUntil(async () => ((await condition()) ? true : undefined), MAX_WAIT_MS);
    if (held === undefined) throw new Error(`not within ${MAX_WAIT_MS} ms: ${condition.toString()}`);
  };
  const lives = async (id: number): Promise<boolean> => {
    for await (const { session } of operator.admin.sessions()) if (session === id) return true;
    return false;
  };
  return {
    async connect(options) {
      const runtime = nodeRuntime();
      const cable = new Cable(runtime.network);
      const client = await connect(
        { servers, sessionTimeoutMs: SESSION_TIMEOUT_MS, requestTimeoutMs: MAX_WAIT_MS, ...options },
        { ...runtime, network: cable.network },
      );
      cables.set(client, cable);
      return client;
    },
    complete: (promise) => promise,
    until,
    async expire(client) {
      const { sessionId } = client;
      cables.get(client)?.cut();
      await until(async () => !(await lives(sessionId)));
      cables.get(client)?.mend();
      await until(() => client.state === 'expired' || client.sessionId !== sessionId);
    },
    async changeLeader() {
      // One that was launched before may still be on its way: without it there would be no majority.
      await ensemble.waitUntilReady();
      const leader = await ensemble.waitForLeader(MAX_WAIT_MS);
      await ensemble.kill(leader);
      await ensemble.waitForLeader(MAX_WAIT_MS);
      ensemble.launch(leader);
    },
    async agreed() {
      const agreed = operator.semaphore('agreed', { permits: 1 });
      await until(() => agreed.withLock(() => true).catch(() => false));
    },
    async close() {
      await Promise.all([operator, ...cables.keys()].map((client) => client.close()));
      await ensemble.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}

promisesOf('an ensemble of real processes', real);
