import type { Clock } from '@holdfast/runtime';
import { SimWorld, type SimHost } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { EntryType, logIndex, serverId, term, type RaftCore, type WriteSeq } from '../../../src/core/index.ts';
import { MemoryLogStore } from '../../../src/log-store/contract/memory-log-store.ts';
import type { WriteBatch } from '../../../src/log-store/contract/log-store.ts';
import type { ReplicaMachine } from '../../../src/machine.ts';
import { Replica } from '../../../src/driver/replica.ts';
import { STAGE_SAMPLE_MS, StageClock, type StageTimes } from '../../../src/driver/stages/stage-clock.ts';

const COMMAND = new Uint8Array([1, 2, 3]);

/** Its writes take as long as they are told to. */
class SlowStore extends MemoryLogStore {
  readonly #host: SimHost;
  writeMs = 0;

  constructor(host: SimHost) {
    super();
    this.#host = host;
  }

  override async write(batch: WriteBatch): Promise<void> {
    if (this.writeMs > 0)
      await new Promise<void>((resolve) => void this.#host.runtime.clock.setTimer(this.writeMs, resolve));
    await super.write(batch);
  }
}

interface Server {
  readonly id: number;
  readonly replica: Replica;
  readonly store: SlowStore;
  readonly times: StageTimes[];
}

const machine: ReplicaMachine = {
  apply() {},
  flush() {},
  statusChanged() {},
  proposalRejected() {},
  peerMessage() {},
  peerDisconnected() {},
  peersChanged() {},
  removed() {},
  fatal(error) {
    throw error;
  },
};

class Ensemble {
  readonly world = new SimWorld({ seed: 5 });
  readonly servers: readonly Server[];

  constructor(size: number) {
    const ids = Array.from({ length: size }, (_, position) => position + 1);
    this.servers = ids.map((id) => {
      const host = this.world.host(`server-${id}`);
      const { clock, network, random, logger } = host.runtime;
      const times: StageTimes[] = [];
      const store = new SlowStore(host);
      const replica = new Replica(
        {
          id: serverId(id),
          clusterId: 'test',
          incarnation: `disk-${id}`,
          members: ids.map((peer) => ({ id: serverId(peer), peerAddress: `server-${peer}:7000` })),
          peerListen: `server-${id}:7000`,
          clientAddress: `server-${id}:8000`,
        },
        store,
        machine,
        { clock, network, random, logger, observer: { timed: (each) => void times.push(each) } },
      );
      return { id, replica, store, times };
    });
  }

  async start(): Promise<Server> {
    await this.world.complete(Promise.all(this.servers.map(({ replica }) => replica.start())));
    await this.run(() => this.leader !== undefined);
    if (this.leader === undefined) throw new Error('no leader');
    return this.leader;
  }

  get leader(): Server | undefined {
    return this.servers.find(({ replica }) => replica.status.role === 'leader' && replica.status.ready);
  }

  others(server: Server): readonly Server[] {
    return this.servers.filter((each) => each !== server);
  }

  async run(until: () => boolean): Promise<void> {
    await this.world.run({ maxMs: 20_000, until });
    expect(until()).toBe(true);
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.world.nowMs + ms;
    this.world.after(ms, () => {});
    await this.world.run({ maxMs: ms + 1, until: () => this.world.nowMs >= endMs });
  }
}

async function timesOfOne(ensemble: Ensemble, leader: Server): Promise<StageTimes> {
  leader.times.length = 0;
  leader.replica.propose(COMMAND);
  await ensemble.run(() => leader.times.length > 0);
  const [times] = leader.times;
  if (times === undefined) throw new Error('the batch was not followed');
  return times;
}

describe('the stages of a batch', () => {
  it('tell a slow disk of the leader from slow followers', async () => {
    const ensemble = new Ensemble(3);
    const leader = await ensemble.start();
    leader.store.writeMs = 300;
    const ownDisk = await timesOfOne(ensemble, leader);
    expect(ownDisk.persistedMs).toBeGreaterThanOrEqual(300);
    expect(ownDisk.replicatedMs).toBeLessThan(300);
    leader.store.writeMs = 0;
    for (const { store } of ensemble.others(leader)) store.writeMs = 300;
    const followers = await timesOfOne(ensemble, leader);
    expect(followers.persistedMs).toBeLessThan(300);
    expect(followers.replicatedMs).toBeGreaterThanOrEqual(300);
    expect(followers.committedMs).toBeGreaterThanOrEqual(followers.replicatedMs);
    expect(followers.appliedMs).toBeGreaterThanOrEqual(followers.committedMs);
  });

  it('see an acknowledgement that is left for a later turn, since the own disk is not done', async () => {
    const ensemble = new Ensemble(3);
    const leader = await ensemble.start();
    const [slow] = ensemble.others(leader);
    if (slow === undefined) throw new Error('there are three');
    leader.store.writeMs = 60;
    slow.store.writeMs = 1_000;
    const times = await timesOfOne(ensemble, leader);
    // The next turn comes later than that, for what is sent to the deferred follower.
    expect(times.replicatedMs).toBeLessThan(5);
    expect(times.committedMs).toBeGreaterThanOrEqual(60);
  });

  it('ask for no more followers than a quorum needs', async () => {
    const ensemble = new Ensemble(3);
    const leader = await ensemble.start();
    const [slow] = ensemble.others(leader);
    if (slow === undefined) throw new Error('there are three');
    slow.store.writeMs = 300;
    const times = await timesOfOne(ensemble, leader);
    expect(times.replicatedMs).toBeLessThan(300);
    expect(times.committedMs).toBeLessThan(300);
  });

  it('need no follower where there is none', async () => {
    const ensemble = new Ensemble(1);
    const leader = await ensemble.start();
    leader.store.writeMs = 100;
    const times = await timesOfOne(ensemble, leader);
    expect(times.replicatedMs).toBeLessThan(100);
    expect(times.committedMs).toBeGreaterThanOrEqual(100);
  });

  it('count in the histograms, once a batch', async () => {
    const ensemble = new Ensemble(3);
    const leader = await ensemble.start();
    for (let count = 0; count < 5; count += 1) {
      await timesOfOne(ensemble, leader);
      await ensemble.pass(STAGE_SAMPLE_MS);
    }
    expect(Object.values(leader.replica.stageHistograms).map(({ count }) => count)).toEqual([5, 5, 5, 5]);
    for (const { replica } of ensemble.others(leader)) expect(replica.stageHistograms.applied.count).toBe(0);
  });

  it('are taken of a bounded number of batches, however many there are', async () => {
    const ensemble = new Ensemble(1);
    const leader = await ensemble.start();
    const begunMs = ensemble.world.nowMs;
    const before = leader.replica.status.appliedIndex;
    for (let count = 0; count < 1_000; count += 1) {
      leader.replica.propose(COMMAND);
      const index = leader.replica.status.lastIndex;
      await ensemble.run(() => leader.replica.status.appliedIndex > index);
    }
    expect(leader.replica.status.appliedIndex).toBeGreaterThanOrEqual(before + 1_000);
    const passedMs = ensemble.world.nowMs - begunMs;
    expect(leader.times.length).toBeGreaterThan(0);
    expect(leader.times.length).toBeLessThanOrEqual(1 + passedMs / STAGE_SAMPLE_MS);
  });

  it('are not told of a batch whose leader was deposed', async () => {
    const ensemble = new Ensemble(3);
    const leader = await ensemble.start();
    const hosts = ensemble.servers.map(({ id }) => `server-${id}`);
    const own = `server-${leader.id}`;
    for (const host of hosts) {
      if (host === own) continue;
      ensemble.world.network.cut(own, host);
      ensemble.world.network.cut(host, own);
    }
    leader.replica.propose(COMMAND);
    await ensemble.run(() => ensemble.others(leader).some(({ replica }) => replica.status.ready));
    for (const host of hosts) {
      if (host === own) continue;
      ensemble.world.network.heal(own, host);
      ensemble.world.network.heal(host, own);
    }
    const next = ensemble.others(leader).find(({ replica }) => replica.status.ready);
    if (next === undefined) throw new Error('nobody else leads');
    next.replica.propose(COMMAND);
    await ensemble.run(() => leader.replica.status.appliedIndex === next.replica.status.lastIndex);
    expect(leader.times).toEqual([]);
    expect(next.times).toHaveLength(1);
  });
});

describe('a batch that a quorum of others has before the leader', () => {
  it('ends when the leader has it, too', () => {
    let nowMs = 100;
    const timed: StageTimes[] = [];
    const core = {
      status: { role: 'leader', term: term(1), commitIndex: logIndex(0) },
      replicatedIndex: () => logIndex(7),
    };
    const clock = { monotonicMs: () => nowMs } as Clock;
    const stages = new StageClock(core as unknown as RaftCore, clock, (times) => void timed.push(times));
    const entries = [{ index: logIndex(7), term: term(1), type: EntryType.command, data: COMMAND }];
    const write = { type: 'persist', seq: 3 as WriteSeq, hardState: undefined, snapshot: undefined } as const;
    stages.proposed();
    core.status.commitIndex = logIndex(7);
    stages.stepped([{ ...write, truncateFrom: undefined, entries }], nowMs);
    nowMs += 2;
    stages.applied(logIndex(7));
    expect(timed).toEqual([]);
    nowMs += 5;
    stages.persisted(3 as WriteSeq);
    expect(timed).toEqual([{ index: 7, persistedMs: 7, replicatedMs: 0, committedMs: 0, appliedMs: 2 }]);
  });
});
