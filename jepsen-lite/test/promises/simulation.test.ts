import { connect, type Client } from '@holdfast/client';
import { LockServer } from '@holdfast/lockd';
import { SimWorld } from '@holdfast/runtime/sim';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import { promisesOf, type Subject } from './suite.ts';

const SERVERS = [1, 2, 3];
const ADDRESSES = SERVERS.map((id) => `s${id}:7100`);
const SESSION_TIMEOUT_MS = 2_000;
const MAX_MS = 60_000;

/** Whole servers and clients in a world whose time passes only where a test asks for it. */
class Simulation implements Subject {
  readonly #world = new SimWorld({ seed: 7 });
  readonly #servers = new Map<number, LockServer>();
  readonly #hosts = new Map<Client, string>();

  async start(): Promise<this> {
    for (const id of SERVERS) await this.#startServer(id);
    await this.until(() => this.#leader !== undefined);
    return this;
  }

  async connect(options: Parameters<Subject['connect']>[0] = {}): Promise<Client> {
    const name = `application-${this.#hosts.size + 1}`;
    const all = { servers: ADDRESSES, sessionTimeoutMs: SESSION_TIMEOUT_MS, ...options };
    const client = await this.complete(connect(all, this.#world.host(name).runtime));
    this.#hosts.set(client, name);
    return client;
  }

  complete<T>(promise: Promise<T>): Promise<T> {
    return this.#world.complete(promise, { maxMs: MAX_MS });
  }

  async until(condition: () => boolean): Promise<void> {
    await this.#world.run({ until: condition, maxMs: MAX_MS });
  }

  async expire(client: Client): Promise<void> {
    const { sessionId } = client;
    this.#links(client, 'cut');
    await this.until(() => {
      const sessions = this.#leader?.state.sessions();
      return sessions !== undefined && [...sessions].every(({ id }) => id !== sessionId);
    });
    this.#links(client, 'heal');
    await this.until(() => client.state === 'expired' || client.sessionId !== sessionId);
  }

  /** Its power fails. */
  async changeLeader(): Promise<void> {
    const before = this.#leader?.status.id ?? 0;
    this.#servers.delete(before);
    this.#world.host(`s${before}`).crash({ tear: 'random' });
    await this.until(() => this.#leader !== undefined);
    await this.#startServer(before);
  }

  async agreed(): Promise<void> {
    await this.until(() => (this.#leader?.state.version ?? 0) >= LATEST_STATE_VERSION);
  }

  async close(): Promise<void> {
    for (const client of this.#hosts.keys()) await this.complete(client.close());
  }

  get #leader(): LockServer | undefined {
    return [...this.#servers.values()].find(({ status }) => status.role === 'leader');
  }

  async #startServer(id: number): Promise<void> {
    const host = this.#world.host(`s${id}`);
    if (host.state === 'down') host.restart();
    const options = {
      id,
      clusterId: 'sim',
      clientListen: `s${id}:7100`,
      peerListen: `s${id}:7200`,
      dataDirectory: '/data',
      members: SERVERS.map((member) => ({ id: member, peerAddress: `s${member}:7200` })),
      segmentBytes: 64 * 1024,
      stateUpgradeChecks: 1,
    };
    const fatal = (error: unknown): void => {
      throw error;
    };
    this.#servers.set(id, await this.complete(LockServer.start(options, host.runtime, { fatal })));
  }

  #links(client: Client, what: 'cut' | 'heal'): void {
    const name = this.#hosts.get(client) ?? '';
    for (const id of SERVERS) {
      this.#world.network[what](name, `s${id}`);
      this.#world.network[what](`s${id}`, name);
    }
  }
}

promisesOf('the simulation', () => new Simulation().start());
