/** Applications on hosts of their own at a simulated ensemble: cut off, expired, and looked at for what they leave behind. */

import { connect, type Client, type ConnectOptions } from '@holdfast/client';
import type { Clock } from '@holdfast/runtime';
import type { SimHost } from '@holdfast/runtime/sim';
import { SERVERS, started, type SimulatedEnsemble } from './simulated-ensemble.ts';

const SESSION_TIMEOUT_MS = 2_000;

export class Applications {
  readonly ensemble: SimulatedEnsemble;
  readonly #hosts = new Map<Client, SimHost>();
  readonly #nodesBefore: number;
  #timers = 0;
  #operator: Client | undefined;

  constructor(ensemble: SimulatedEnsemble) {
    this.ensemble = ensemble;
    this.#nodesBefore = this.#nodes;
  }

  /** Timers of all applications that are armed. */
  get timers(): number {
    return this.#timers;
  }

  async connect(options: Partial<ConnectOptions> = {}): Promise<Client> {
    const host = this.ensemble.world.host(`application-${this.#hosts.size + 1}`);
    const servers = SERVERS.map((id) => `s${id}:7100`);
    const runtime = { ...host.runtime, clock: this.#counting(host.runtime.clock) };
    const connecting = connect({ servers, sessionTimeoutMs: SESSION_TIMEOUT_MS, ...options }, runtime);
    const client = await this.ensemble.complete(connecting);
    this.#hosts.set(client, host);
    return client;
  }

  /** Nothing passes between the client and the servers. */
  cut(client: Client): void {
    for (const id of SERVERS) this.#link(client, id, 'cut');
  }

  heal(client: Client): void {
    for (const id of SERVERS) this.#link(client, id, 'heal');
  }

  /** Cuts the client off until its session has expired, and lets it hear of that. */
  async expire(client: Client): Promise<void> {
    const { sessionId } = client;
    this.cut(client);
    await this.ensemble.until(() => !this.#lives(sessionId));
    this.heal(client);
    await this.ensemble.until(() => client.state === 'expired' || client.sessionId !== sessionId);
  }

  /** Ends the session as an operator does. */
  async revoke(client: Client): Promise<void> {
    this.#operator ??= await this.connect({ label: 'operator', sessionTimeoutMs: 60_000 });
    await this.ensemble.complete(this.#operator.admin.closeSession(client.sessionId));
  }

  /** The power of the leader fails, and another leads. */
  async changeLeader(): Promise<void> {
    const { ensemble } = this;
    const before = ensemble.leader;
    ensemble.stopHard(before);
    await ensemble.until(() => ensemble.leader !== 0 && ensemble.leader !== before);
    await ensemble.startServer(before);
  }

  async pass(ms: number): Promise<void> {
    const { world } = this.ensemble;
    await world.run({ untilMs: world.nowMs + ms });
  }

  complete<T>(promise: Promise<T>): Promise<T> {
    return this.ensemble.complete(promise);
  }

  /** Closes every client; what is left then, of them, of their sessions and of the tree. */
  async close(): Promise<typeof NOTHING_LEFT> {
    for (const client of this.#hosts.keys()) await this.complete(client.close());
    // Sessions end, and then containers go from the lowest up, about one level in a second.
    await this.pass(4 * SESSION_TIMEOUT_MS);
    const { sessions, locks } = this.ensemble.server(this.ensemble.leader).status;
    return { timers: this.#timers, sessions, locks, nodes: this.#nodes - this.#nodesBefore };
  }

  get #nodes(): number {
    return this.ensemble.server(this.ensemble.leader).state.counts.nodes;
  }

  #lives(session: number): boolean {
    const { leader } = this.ensemble;
    return (
      leader === 0 ||
      this.ensemble
        .server(leader)
        .state.sessions()
        .some(({ id }) => id === session)
    );
  }

  #link(client: Client, id: number, what: 'cut' | 'heal'): void {
    const { network } = this.ensemble.world;
    const name = this.#hosts.get(client)?.name ?? '';
    network[what](name, `s${id}`);
    network[what](`s${id}`, name);
  }

  #counting(clock: Clock): Clock {
    return {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      afterPoll: (callback) => clock.afterPoll(callback),
      setTimer: (delayMs, callback) => {
        let armed = true;
        const disarm = (): void => {
          if (armed) this.#timers -= 1;
          armed = false;
        };
        this.#timers += 1;
        const timer = clock.setTimer(delayMs, () => {
          disarm();
          callback();
        });
        return {
          cancel: () => {
            disarm();
            timer.cancel();
          },
        };
      },
    };
  }
}

export const NOTHING_LEFT = { timers: 0, sessions: 0, locks: 0, nodes: 0 };
/** Since that state version there are delays of locks and floors; shared locks, transactions and containers since earlier ones. */
const DELAYS_SINCE = 5;

export async function applications(seed: number): Promise<Applications> {
  const ensemble = await started(seed, { stateUpgradeChecks: 1, containerCheckMs: 200 });
  await ensemble.until(() => ensemble.server(ensemble.leader).state.version >= DELAYS_SINCE);
  return new Applications(ensemble);
}
