import { MalformedError } from '@holdfast/protocol';
import type { Connection, Network } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { EntryType, serverId, type Entry, type LogIndex, type RejectReason } from '../../src/core/index.ts';
import { MemoryLogStore } from '../../src/log-store/contract/memory-log-store.ts';
import type { ReplicaMachine, ReplicaStatus } from '../../src/machine.ts';
import type { ReplicaObserver } from '../../src/observer.ts';
import { Replica } from '../../src/driver/replica.ts';

/** Remembers what a replica tells it. */
class Recorder implements ReplicaMachine {
  readonly applied: Entry[] = [];
  readonly rejected: string[] = [];
  readonly statuses: ReplicaStatus[] = [];
  error: unknown;

  apply(entry: Entry): void {
    this.applied.push(entry);
  }

  flush(): void {}

  statusChanged(status: ReplicaStatus): void {
    this.statuses.push(status);
  }

  proposalRejected(data: Uint8Array, reason: RejectReason): void {
    this.rejected.push(`${new TextDecoder().decode(data)}: ${reason}`);
  }

  readonly unheard: number[] = [];

  peerMessage(_from: number, payload: Uint8Array): void {
    if (new TextDecoder().decode(payload) === 'malformed') throw new MalformedError('the payload is malformed');
  }

  peerDisconnected(peer: number): void {
    this.unheard.push(peer);
  }

  peersChanged(): void {}

  removed(): void {
    this.error = new Error('removed');
  }

  fatal(error: unknown): void {
    this.error = error;
  }
}

/** The same network; `sent` hears of every frame that leaves. */
function hearing(network: Network, sent: () => void): Network {
  const watch = (connection: Connection): Connection => {
    const send = connection.send.bind(connection);
    connection.send = (frame) => {
      sent();
      send(frame);
    };
    return connection;
  };
  return {
    ...network,
    dial: async (...args) => watch(await network.dial(...args)),
    listen: (options) =>
      network.listen({ ...options, onConnection: (connection) => options.onConnection(watch(connection)) }),
  };
}

interface Server {
  readonly id: number;
  readonly replica: Replica;
  readonly machine: Recorder;
  readonly store: MemoryLogStore;
}

/** Three replicas on a simulated network. `addresses`: where a server believes its peers to be. */
class Ensemble {
  readonly world: SimWorld;
  readonly servers: Server[];
  /** Steps of the core that each server has taken. */
  readonly steps = new Map<number, number>();
  /** What each server has asked of its network and disk, in that order. */
  readonly asked = new Map<number, ('send' | 'write')[]>();

  constructor(seed: number, addresses: (id: number, peer: number) => string = (_, peer) => `server-${peer}:7000`) {
    this.world = new SimWorld({ seed });
    this.servers = [1, 2, 3].map((id) => {
      const { clock, network: plain, random, logger } = this.world.host(`server-${id}`).runtime;
      const asked: ('send' | 'write')[] = [];
      this.asked.set(id, asked);
      const network = hearing(plain, () => asked.push('send'));
      const store = new MemoryLogStore();
      const write = store.write.bind(store);
      store.write = (batch) => {
        asked.push('write');
        return write(batch);
      };
      const machine = new Recorder();
      const options = {
        id: serverId(id),
        clusterId: 'test',
        incarnation: `disk-${id}`,
        members: [1, 2, 3].map((peer) => ({ id: serverId(peer), peerAddress: addresses(id, peer) })),
        peerListen: `server-${id}:7000`,
        clientAddress: `server-${id}:8000`,
      };
      const observer: Partial<ReplicaObserver> = {
        stepped: () => this.steps.set(id, (this.steps.get(id) ?? 0) + 1),
      };
      const replica = new Replica(options, store, machine, { clock, network, random, logger, observer });
      return { id, replica, machine, store };
    });
  }

  get leader(): Server | undefined {
    return this.servers.find(
      ({ id, replica }) =>
        this.world.host(`server-${id}`).state === 'up' && replica.status.role === 'leader' && replica.status.ready,
    );
  }

  async start(): Promise<Server> {
    await this.world.complete(Promise.all(this.servers.map(({ replica }) => replica.start())));
    return this.waitForLeader();
  }

  async waitForLeader(): Promise<Server> {
    await this.world.run({ maxMs: 20_000, until: () => this.leader !== undefined });
    if (this.leader === undefined) throw new Error('no leader');
    return this.leader;
  }

  others(server: Server): Server[] {
    return this.servers.filter((other) => other !== server);
  }

  kill(server: Server): void {
    this.world.host(`server-${server.id}`).kill();
  }

  checkHealth(): void {
    expect(this.servers.map(({ machine }) => machine.error)).toEqual([undefined, undefined, undefined]);
  }
}

const bytes = (text: string) => new TextEncoder().encode(text);
const commands = ({ machine }: Server) =>
  machine.applied.filter(({ type }) => type === EntryType.command).map(({ data }) => new TextDecoder().decode(data));

describe('three replicas', () => {
  it('close the connection of a peer whose machine says what cannot be read, and go on', async () => {
    const ensemble = new Ensemble(9);
    const leader = await ensemble.start();
    const [follower, other] = ensemble.others(leader);
    if (follower === undefined || other === undefined) throw new Error('three were started');
    follower.replica.sendToPeer(leader.replica.peers[leader.id - 1]?.id ?? serverId(0), bytes('malformed'));
    await ensemble.world.run({ maxMs: 5_000, until: () => leader.machine.unheard.includes(follower.id) });
    leader.replica.propose(bytes('afterwards'));
    await ensemble.world.run({
      maxMs: 5_000,
      until: () => ensemble.servers.every((server) => commands(server).length === 1),
    });
    ensemble.checkHealth();
  });

  it('apply the same commands in the same order', async () => {
    const ensemble = new Ensemble(1);
    const leader = await ensemble.start();
    const proposed = Array.from({ length: 200 }, (_, count) => `command ${count}`);
    for (const text of proposed) leader.replica.propose(bytes(text));
    await ensemble.world.run({
      maxMs: 5_000,
      until: () => ensemble.servers.every((server) => commands(server).length === proposed.length),
    });
    for (const server of ensemble.servers) expect(commands(server)).toEqual(proposed);
    ensemble.checkHealth();
  });

  it('take two steps for a command at the leader and one at a follower, not one for everything that they hear', async () => {
    const ensemble = new Ensemble(3);
    const leader = await ensemble.start();
    await ensemble.world.run({ forMs: 1_000 });
    ensemble.steps.clear();
    const total = 100;
    for (let count = 1; count <= total; count += 1) {
      leader.replica.propose(bytes(`command ${count}`));
      await ensemble.world.run({ maxMs: 5_000, until: () => commands(leader).length === count });
    }
    // More for heartbeats, and where two that could wait come together.
    expect(ensemble.steps.get(leader.id)).toBeLessThan(3 * total);
    for (const { id } of ensemble.others(leader)) expect(ensemble.steps.get(id)).toBeLessThan(1.5 * total);
  });

  it('tell the others of a command before the leader writes it to its own disk', async () => {
    const ensemble = new Ensemble(3);
    const leader = await ensemble.start();
    await ensemble.world.run({ forMs: 1_000 });
    const asked = ensemble.asked.get(leader.id) ?? [];
    for (let count = 1; count <= 10; count += 1) {
      asked.length = 0;
      leader.replica.propose(bytes(`command ${count}`));
      await ensemble.world.run({ maxMs: 5_000, until: () => commands(leader).length === count });
      expect(asked[0]).toBe('send');
      expect(asked).toContain('write');
    }
  });

  it('serve a read at an index that covers what was applied before it was asked', async () => {
    const ensemble = new Ensemble(2);
    const leader = await ensemble.start();
    const results: (LogIndex | RejectReason)[] = [];
    leader.replica.propose(bytes('x'));
    await ensemble.world.run({ maxMs: 5_000, until: () => commands(leader).length === 1 });
    const before = leader.replica.status.appliedIndex;
    leader.replica.readIndex((result) => results.push(result));
    ensemble.others(leader)[0]?.replica.readIndex((result) => results.push(result));
    await ensemble.world.run({ maxMs: 5_000, until: () => results.length === 2 });
    expect(results).toContain('not-leader');
    expect(results.find((result) => typeof result === 'number')).toBeGreaterThanOrEqual(before);
  });

  it('replace a leader whose process is killed long before an election timeout', async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const ensemble = new Ensemble(seed);
      const leader = await ensemble.start();
      await ensemble.world.run({ forMs: 3_000 });
      const killedAt = ensemble.world.nowMs;
      ensemble.kill(leader);
      const successor = await ensemble.waitForLeader();
      expect(successor.id).not.toBe(leader.id);
      expect(ensemble.world.nowMs - killedAt, `seed ${seed}`).toBeLessThan(800);
    }
  });

  it('transfer leadership when the leader stops', async () => {
    const ensemble = new Ensemble(4);
    const leader = await ensemble.start();
    const before = ensemble.world.nowMs;
    await ensemble.world.complete(leader.replica.stop());
    await ensemble.world.run({
      maxMs: 900,
      until: () => ensemble.others(leader).some(({ replica }) => replica.status.role === 'leader'),
    });
    expect(ensemble.world.nowMs - before).toBeLessThan(900);
    leader.replica.propose(bytes('late'));
    expect(leader.machine.rejected).toEqual(['late: stopped']);
    await expect(leader.store.openSnapshot()).rejects.toThrow('the log store is closed');
  });
});

describe('a server whose dials are refused', () => {
  it('keeps the leader that it hears: that is no sign that the leader is gone', async () => {
    const ensemble = new Ensemble(5);
    const { world } = ensemble;
    const leader = await ensemble.start();
    const misled = ensemble.servers.find(({ id }) => id !== leader.id);
    const others = ensemble.servers.filter(({ id }) => id !== misled?.id);
    // By now they know each other's data directories.
    await world.run({ forMs: 2_000 });
    for (const { id } of others) {
      world.network.setDials('refused', `server-${misled?.id}`, `server-${id}`);
      world.network.breakConnections(`server-${misled?.id}`, `server-${id}`);
    }
    const follows = (): boolean => misled?.replica.status.leader === leader.replica.status.leader;
    await world.run({ forMs: 1_000 });
    await world.run({ maxMs: 10_000, until: follows });
    const changes = misled?.machine.statuses.length;
    await world.run({ forMs: 20_000 });
    expect(misled?.machine.statuses).toHaveLength(changes ?? -1);
    expect(ensemble.leader?.id).toBe(leader.id);
    ensemble.checkHealth();
  });
});

describe('a server with a wrong address for every peer', () => {
  it('is not known to them, hears nobody, and disturbs nobody', async () => {
    const ensemble = new Ensemble(5, (id, peer) => `server-${peer}:${id === 3 && peer !== 3 ? 7999 : 7000}`);
    const leader = await ensemble.start();
    expect(leader.id).not.toBe(3);
    const { term } = leader.replica.status;
    await ensemble.world.run({ forMs: 20_000 });
    expect(ensemble.servers[2]?.replica.status.leader).toBe(0);
    expect(leader.replica.status).toMatchObject({ role: 'leader', term });
  });
});
