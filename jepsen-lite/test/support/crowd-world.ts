/**
 * Three simulated servers whose work takes time, and a crowd of clients: what comes to a server faster than it can greet waits in its
 * sockets, as it does before a real one.
 */

import { connect, type Client } from '@holdfast/client';
import { LockServer } from '@holdfast/lockd';
import { SimWorld } from '@holdfast/runtime/sim';

export interface CrowdOptions {
  readonly seed: number;
  readonly sessions: number;
  readonly sessionTimeoutMs: number;
  /** Client processes, among which the sessions are divided. */
  readonly processes: number;
  /** What it takes a server to shake hands with a client. */
  readonly acceptMs: number;
}

const FRAME_MS = 0.1;
const IDS = [1, 2, 3];
const GATHER_OVER_MS = 5_000;
/** Those that came to a follower go to the leader meanwhile. */
const MOVE_OVER_MS = 9_000;

export class CrowdWorld {
  readonly world: SimWorld;
  readonly clients: Client[] = [];
  readonly failures: unknown[] = [];
  readonly #servers = new Map<number, LockServer>();
  readonly #options: CrowdOptions;

  private constructor(options: CrowdOptions) {
    this.#options = options;
    this.world = new SimWorld({ seed: options.seed });
  }

  /** Every session is attached, and has had time to move to the leader. */
  static async gather(options: CrowdOptions): Promise<CrowdWorld> {
    const crowd = new CrowdWorld(options);
    for (const id of IDS) await crowd.#startServer(id);
    await crowd.world.run({ until: () => crowd.leader !== 0 });
    await crowd.#connectAll();
    await crowd.world.run({ forMs: MOVE_OVER_MS });
    for (const id of IDS) {
      crowd.world.host(`s${id}`).setCosts({ acceptMs: options.acceptMs, frameMs: FRAME_MS });
    }
    return crowd;
  }

  get leader(): number {
    const leading = [...this.#servers.values()].map(({ status }) => status).filter(({ role }) => role === 'leader');
    return leading.toSorted((a, b) => b.term - a.term)[0]?.id ?? 0;
  }

  get term(): number {
    return Math.max(...[...this.#servers.values()].map(({ status }) => status.term));
  }

  get expired(): number {
    return this.clients.filter(({ state }) => state === 'expired').length;
  }

  boundAt(id: number): number {
    return this.#servers.get(id)?.status.boundSessions ?? 0;
  }

  /** SIGKILL; resolves with the time until each session had an answer to a write again, in rising order. */
  async killLeader(maxMs: number): Promise<number[]> {
    const { leader, world } = this;
    const sinceMs = world.nowMs;
    world.host(`s${leader}`).kill();
    this.#servers.delete(leader);
    const served: number[] = [];
    let settled = 0;
    for (const [n, client] of this.clients.entries()) {
      const write = client.nodes.set(nodeOf(n), 'again', { timeoutMs: maxMs });
      write.then(() => served.push(world.nowMs - sinceMs)).catch(() => undefined);
      write.catch(() => undefined).finally(() => (settled += 1));
    }
    await world.run({ until: () => settled === this.clients.length, maxMs: maxMs + 10_000 });
    return served;
  }

  async #connectAll(): Promise<void> {
    const { sessions, sessionTimeoutMs, processes } = this.#options;
    const { world } = this;
    const servers = IDS.map((id) => `s${id}:7100`);
    let failure: unknown;
    for (let n = 0; n < sessions; n += 1) {
      world.after((n / sessions) * GATHER_OVER_MS, () => {
        const join = async (): Promise<void> => {
          const { runtime } = world.host(`c${n % processes}`);
          const client = await connect({ servers, sessionTimeoutMs, connectTimeoutMs: 60_000 }, runtime);
          await client.nodes.create(nodeOf(n), '', { ephemeral: true });
          this.clients[n] = client;
        };
        join().catch((error: unknown) => (failure = error));
      });
    }
    const joined = (): boolean => Object.keys(this.clients).length === sessions;
    await world.run({ until: () => failure !== undefined || joined(), maxMs: 120_000 });
    if (failure !== undefined) throw failure;
  }

  async #startServer(id: number): Promise<void> {
    const starting = LockServer.start(
      {
        id,
        clusterId: 'crowd',
        clientListen: `s${id}:7100`,
        peerListen: `s${id}:7200`,
        dataDirectory: '/data',
        members: IDS.map((member) => ({ id: member, peerAddress: `s${member}:7200` })),
      },
      this.world.host(`s${id}`).runtime,
      { fatal: (error) => this.failures.push(error) },
    );
    this.#servers.set(id, await this.world.complete(starting));
  }
}

function nodeOf(n: number): string {
  return `/client-${n}`;
}
