/** The ensemble of a test: whole servers on a simulated world, and clients of the SDK, each on a machine of its own. */

import { connect, InvalidArgumentError, type Client, type ConnectOptions, type PlainLogger } from '@holdfast/client';
import { loggerWithChildren } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { toMilliseconds, type Duration } from './duration.ts';
import { Pace } from './pace.ts';
import { Servers } from './servers.ts';

/**
 * What `testEnsemble` takes.
 *
 * @example
 * const ensemble = await testEnsemble({ servers: 5, seed: 7 });
 */
export interface TestEnsembleOptions {
  /** From 1 to 7. One is enough where no server is to fail; it starts sooner. @default 3 */
  readonly servers?: number;
  /** What the ensemble's randomness comes from: election timeouts, sessions' secrets. @default 1 */
  readonly seed?: number | string;
  /** Hears what the servers log: a pino instance, or `console`. @default none */
  readonly logger?: PlainLogger;
}

const OPTION_NAMES: Readonly<Record<keyof TestEnsembleOptions, true>> = { servers: true, seed: true, logger: true };
const MAX_SERVERS = 7;
/** In which a client that a server can reach hears that its session has ended; after that it is taken for cut off. */
const NOTICE_MS = 200;
const NO_TIME = { minMs: 0, maxMs: 0 } as const;
/** In virtual time. A client's goodbye has a limit of its own, of at most a few seconds unless its options say otherwise. */
const MAX_CLOSE_MS = 600_000;

/**
 * Starts an ensemble in this process, and resolves once it has a leader. Its clock runs with the real one; `advance` turns it forward.
 *
 * Rejects with InvalidArgumentError for a wrong option.
 *
 * @example
 * const ensemble = await testEnsemble();
 * const client = await ensemble.connect();
 */
export async function testEnsemble(options: TestEnsembleOptions = {}): Promise<TestEnsemble> {
  const { servers = 3, seed = 1, logger } = options;
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTION_NAMES, name));
  if (unknown !== undefined) {
    const known = Object.keys(OPTION_NAMES).join(', ');
    throw new InvalidArgumentError(`testEnsemble has no option ${unknown}; it has ${known}`);
  }
  if (!Number.isInteger(servers) || servers < 1 || servers > MAX_SERVERS) {
    throw new InvalidArgumentError(`servers is ${String(servers)}; it must be a whole number from 1 to ${MAX_SERVERS}`);
  }
  const world = new SimWorld({ seed, open: true, ...(logger !== undefined && { logger: loggerWithChildren(logger) }) });
  world.network.setLatency(NO_TIME);
  const ensemble = new TestEnsemble(world, servers);
  await ensemble.start();
  return ensemble;
}

/**
 * Made by {@link testEnsemble}.
 *
 * @example
 * const ensemble = await testEnsemble();
 * const client = await ensemble.connect();
 * await ensemble.expire(client);
 * await ensemble.close();
 */
export class TestEnsemble implements AsyncDisposable {
  readonly #world: SimWorld;
  readonly #pace: Pace;
  readonly #servers: Servers;
  /** The machine of each client. */
  readonly #machines = new Map<Client, string>();
  #connected = 0;
  #closed: Promise<void> | undefined;

  /** @internal Use `testEnsemble`. */
  constructor(world: SimWorld, servers: number) {
    this.#world = world;
    this.#pace = new Pace(world);
    this.#servers = new Servers(world, this.#pace, servers);
  }

  /** @internal */
  async start(): Promise<void> {
    await this.#servers.startAll();
    this.#pace.start();
  }

  /** What `connect` is given as `servers`. They are names within the ensemble: no socket of the process can reach them. */
  get servers(): readonly string[] {
    return this.#servers.addresses;
  }

  /** The number of the server that leads, from 1; 0 while none does. */
  get leader(): number {
    return this.#servers.leader;
  }

  /**
   * A client of the ensemble, as `connect` of the SDK makes it. Options that name servers are taken as well, and mean these: so it can
   * stand in for `connect` in the code under test.
   */
  async connect(options: Partial<ConnectOptions> = {}): Promise<Client> {
    this.#checkOpen();
    this.#connected += 1;
    const machine = `client-${this.#connected}`;
    const host = this.#world.host(machine);
    const client = await connect({ ...options, servers: this.servers }, host.runtime);
    this.#machines.set(client, machine);
    return client;
  }

  /** Turns the clock forward: `'10s'`, `'250ms'`, or milliseconds. All that is due on the way happens on the way. */
  async advance(duration: Duration): Promise<void> {
    this.#checkOpen();
    await this.#pace.advance(toMilliseconds(duration));
  }

  /**
   * Ends a session as if nobody had renewed it in time: what it held is granted to others. Resolves when the ensemble has ended it
   * and a client that it can reach knows. A partitioned one believes in its holds until their deadline, as in life.
   *
   * Rejects with InvalidArgumentError where there is no such session.
   */
  async expire(session: Client | number): Promise<void> {
    this.#checkOpen();
    const id = typeof session === 'number' ? session : session.sessionId;
    await this.#servers.expire(id);
    const client = [...this.#machines.keys()].find(({ sessionId }) => sessionId === id);
    const deadlineMs = this.#world.nowMs + NOTICE_MS;
    const known = (): boolean => client === undefined || client.state === 'expired';
    await this.#pace.until(() => known() || this.#world.nowMs >= deadlineMs, 2 * NOTICE_MS);
  }

  /** Cuts the client off from every server, both ways; nothing is refused, all is silent. Until `heal`. */
  partition(client: Client): void {
    this.#servers.cut(this.#machineOf(client));
  }

  /** Ends the partition of that client, or every one. */
  heal(client?: Client): void {
    this.#checkOpen();
    if (client === undefined) this.#world.network.heal();
    else this.#servers.heal(this.#machineOf(client));
  }

  /** Kills a server, as `kill -9`; by default the leader. The others elect another one: `advance('3s')` is enough for that. */
  kill(server: number = this.leader): void {
    this.#checkOpen();
    this.#servers.kill(server);
  }

  /** Starts a server that was killed, with the data that it had. */
  async restart(server: number): Promise<void> {
    this.#checkOpen();
    await this.#servers.start(server);
  }

  /** Closes every client, then ends the ensemble; nothing of it keeps the process alive. A second call returns the first one's promise. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    try {
      const goodbyes = Promise.all([...this.#machines.keys()].map((client) => client.close()));
      await this.#pace.complete(goodbyes, MAX_CLOSE_MS);
    } finally {
      this.#pace.stop();
    }
  }

  #machineOf(client: Client): string {
    this.#checkOpen();
    const machine = this.#machines.get(client);
    if (machine === undefined)
      throw new InvalidArgumentError('the client is not of this ensemble; use ensemble.connect()');
    return machine;
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new InvalidArgumentError('the test ensemble is closed');
  }
}
