/** The servers of a test's ensemble, and the links between them and the clients' machines. */

import { InvalidArgumentError } from '@holdfast/client';
import { LockServer } from '@holdfast/lockd';
import type { SimWorld } from '@holdfast/runtime/sim';
import { VERSIONS, type Versions } from '@holdfast/state';
import type { Pace } from './pace.ts';

const CLIENT_PORT = 7100;
const PEER_PORT = 7200;
/** Of the simulated disks, which are memory. */
const SEGMENT_BYTES = 64 * 1024;
const DISK_RESERVE_BYTES = 1024 * 1024;
/** The servers of a test are of one version from the first entry on: there is nothing to agree on. */
const NEWEST: Versions = { ...VERSIONS, first: VERSIONS.latest };
const NO_TIME = { minMs: 0, maxMs: 0 } as const;
/** Elections and starts take two seconds or so of virtual time. */
const MAX_START_MS = 60_000;
/** Without a leader a session cannot end; an election has time to find one. */
const MAX_EXPIRE_MS = 60_000;

export class Servers {
  readonly addresses: readonly string[];
  readonly #world: SimWorld;
  readonly #pace: Pace;
  readonly #ids: readonly number[];
  readonly #running = new Map<number, LockServer>();

  constructor(world: SimWorld, pace: Pace, count: number) {
    this.#world = world;
    this.#pace = pace;
    this.#ids = Array.from({ length: count }, (_, n) => n + 1);
    this.addresses = this.#ids.map((id) => `${hostOf(id)}:${CLIENT_PORT}`);
  }

  get leader(): number {
    const leading = [...this.#running.values()].map(({ status }) => status).filter(({ role }) => role === 'leader');
    return leading.toSorted((left, right) => right.term - left.term)[0]?.id ?? 0;
  }

  /** Resolves when one leads. */
  async startAll(): Promise<void> {
    const starting = Promise.all(this.#ids.map((id) => this.#open(id)));
    await this.#pace.complete(starting, MAX_START_MS);
    await this.#pace.until(() => this.leader !== 0, MAX_START_MS);
  }

  async start(id: number): Promise<void> {
    this.#check(id);
    if (this.#running.has(id)) throw new InvalidArgumentError(`server ${id} runs already; kill it before restart`);
    this.#world.host(hostOf(id)).restart();
    await this.#pace.complete(this.#open(id), MAX_START_MS);
  }

  kill(id: number): void {
    this.#check(id);
    if (!this.#running.delete(id)) throw new InvalidArgumentError(`server ${id} does not run`);
    this.#world.host(hostOf(id)).kill();
  }

  async expire(session: number): Promise<void> {
    await this.#pace.until(() => this.leader !== 0, MAX_EXPIRE_MS);
    const { state } = this.#leading();
    if (state.session(session) === undefined) {
      throw new InvalidArgumentError(`the ensemble has no session ${session}; it may have ended already`);
    }
    this.#leading().expireSession(session);
    await this.#pace.until(() => this.#leading().state.session(session) === undefined, MAX_EXPIRE_MS);
  }

  cut(machine: string): void {
    for (const id of this.#ids) {
      this.#world.network.cut(machine, hostOf(id));
      this.#world.network.cut(hostOf(id), machine);
    }
  }

  heal(machine: string): void {
    for (const id of this.#ids) {
      this.#world.network.heal(machine, hostOf(id));
      this.#world.network.heal(hostOf(id), machine);
    }
  }

  async #open(id: number): Promise<void> {
    const host = this.#world.host(hostOf(id));
    host.disk.setLatency({ durable: NO_TIME, cached: NO_TIME });
    const server = await LockServer.start(
      {
        id,
        clusterId: 'test',
        clientListen: `${hostOf(id)}:${CLIENT_PORT}`,
        peerListen: `${hostOf(id)}:${PEER_PORT}`,
        dataDirectory: '/data',
        members: this.#ids.map((member) => ({ id: member, peerAddress: `${hostOf(member)}:${PEER_PORT}` })),
        segmentBytes: SEGMENT_BYTES,
        diskReserveBytes: DISK_RESERVE_BYTES,
        versions: NEWEST,
      },
      host.runtime,
      {
        // A server that fails by itself is a bug of Holdfast: the world's run fails with it.
        fatal: (error) => {
          throw error;
        },
      },
    );
    this.#running.set(id, server);
  }

  #leading(): LockServer {
    const server = this.#running.get(this.leader);
    if (server === undefined) throw new Error('the ensemble has lost its leader meanwhile');
    return server;
  }

  #check(id: number): void {
    if (!this.#ids.includes(id)) {
      throw new InvalidArgumentError(`there is no server ${id}; the servers are ${this.#ids.join(', ')}`);
    }
  }
}

function hostOf(id: number): string {
  return `server-${id}`;
}
