/** Clients whose way to the servers can be broken or cut, every second of them at whichever server it finds. */

import {
  connect,
  connectOperator,
  type Client,
  type ClientRuntime,
  type ConnectOptions,
  type OperatorClient,
  type SessionSummary,
} from '@holdfast/client';
import { DialError, type Connection } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';

/** Longer than any server takes to be replaced on a busy machine: what a client waits for is then still an answer. */
const REQUEST_TIMEOUT_MS = 30_000;

/** The way of one client to all servers. */
export class Way {
  readonly runtime: ClientRuntime;
  #connections: Connection[] = [];
  #cut = false;

  constructor() {
    const { clock, random, network } = nodeRuntime();
    const dial: typeof network.dial = async (options) => {
      if (this.#cut) throw new DialError('failed', 'the way is cut');
      const connection = await network.dial(options);
      this.#connections = [...this.#connections.filter(({ open }) => open), connection];
      if (this.#cut) connection.destroy();
      return connection;
    };
    this.runtime = { clock, random, network: { ...network, dial } };
  }

  /** Connections are lost; others may be made at once. */
  break(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  cut(): void {
    this.#cut = true;
    this.break();
  }

  mend(): void {
    this.#cut = false;
  }
}

export interface Opened {
  readonly client: Client;
  readonly way: Way;
}

export class Clients {
  readonly servers: readonly string[];
  readonly #open = new Map<Client, Way>();
  readonly #operators: OperatorClient[] = [];
  #opened = 0;

  constructor(servers: readonly string[]) {
    this.servers = servers;
  }

  async open(label: string, options: Partial<ConnectOptions> = {}): Promise<Opened> {
    this.#opened += 1;
    const way = new Way();
    const preferLeader = this.#opened % 2 === 0;
    const common = { servers: this.servers, label, preferLeader, requestTimeoutMs: REQUEST_TIMEOUT_MS };
    const client = await connect({ ...common, ...options }, way.runtime);
    this.#open.set(client, way);
    return { client, way };
  }

  async several(count: number, label: string): Promise<Client[]> {
    const opened = await Promise.all(Array.from({ length: count }, () => this.open(label)));
    return opened.map(({ client }) => client);
  }

  async operator(): Promise<OperatorClient> {
    const operator = await connectOperator({ servers: this.servers, requestTimeoutMs: REQUEST_TIMEOUT_MS });
    this.#operators.push(operator);
    return operator;
  }

  /** All lose their connections and come back, to whichever server they find first. */
  breakAll(): void {
    for (const way of this.#open.values()) way.break();
  }

  async close(client: Client): Promise<void> {
    this.#open.delete(client);
    await client.close();
  }

  async closeAll(): Promise<void> {
    const closing: { close(): Promise<void> }[] = [...this.#open.keys(), ...this.#operators];
    await Promise.all(closing.map((client) => client.close()));
  }
}

/** The sessions that carry that label, as a quorum knows them. */
export async function sessionsLabelled(client: Pick<Client, 'admin'>, label: string): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  for await (const session of client.admin.sessions()) if (session.label === label) found.push(session);
  return found;
}
