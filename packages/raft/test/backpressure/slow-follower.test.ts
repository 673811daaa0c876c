import { describe, expect, it } from 'vitest';
import { Ensemble, type Server } from '../snapshots/ensemble.ts';
import { AppendWatch } from './append-watch.ts';

const NO_SNAPSHOTS = { snapshotLogBytes: 1e9 };
const LIMITS = {
  heartbeatMs: 100,
  maxAppendBytes: 2_000,
  maxCatchUpBytes: 1_000,
  maxInflightBytes: 8_000,
  maxInflightMessages: 10,
};
const COMMAND_BYTES = 100;
const BATCH = 5;

class Scene {
  readonly watches = new Map<number, AppendWatch>();
  readonly ensemble: Ensemble;

  private constructor(seed: number) {
    this.ensemble = new Ensemble(seed, NO_SNAPSHOTS, {
      tuning: LIMITS,
      observerOf: (id) => {
        const watch = new AppendWatch(() => this.ensemble.world.nowMs);
        this.watches.set(id, watch);
        return watch;
      },
    });
  }

  static async begin(seed: number): Promise<Scene> {
    const scene = new Scene(seed);
    await scene.ensemble.start();
    // Everybody has said hello and acknowledged something.
    await scene.ensemble.run(BATCH);
    return scene;
  }

  get leader(): Server {
    return this.ensemble.leader;
  }

  get watch(): AppendWatch {
    const watch = this.watches.get(this.leader.id);
    if (watch === undefined) throw new Error('the leader is watched');
    return watch;
  }

  /** The other two: the one that will be slow or away, and the one that keeps pace. */
  get followers(): readonly [Server, Server] {
    const [one, other] = this.ensemble.others(this.leader);
    if (one === undefined || other === undefined) throw new Error('three were started');
    return [one, other];
  }

  /** Waits for each batch before the next, as clients do; the virtual time that the slowest took, and all. */
  async commit(batches: number): Promise<{ readonly slowestMs: number; readonly allMs: number }> {
    const { leader } = this;
    const begunMs = this.ensemble.world.nowMs;
    let slowestMs = 0;
    for (let batch = 0; batch < batches; batch += 1) {
      const fromMs = this.ensemble.world.nowMs;
      const before = leader.machine.commands.length;
      for (let n = 0; n < BATCH; n += 1) {
        leader.running.propose(new TextEncoder().encode(`${batch}/${n} `.padEnd(COMMAND_BYTES, '.')));
      }
      await this.ensemble.until(() => leader.machine.commands.length === before + BATCH);
      slowestMs = Math.max(slowestMs, this.ensemble.world.nowMs - fromMs);
    }
    return { slowestMs, allMs: this.ensemble.world.nowMs - begunMs };
  }

  async level(...servers: readonly Server[]): Promise<void> {
    const { commands } = this.leader.machine;
    await this.ensemble.until(() => servers.every(({ machine }) => machine.commands.length === commands.length));
    for (const { machine } of servers) expect(machine.commands).toEqual(commands);
  }
}

const SLOWNESS: readonly (readonly [
  string,
  (scene: Scene, slow: Server) => void,
  (scene: Scene, slow: Server) => void,
])[] = [
  [
    'whose network is slow',
    ({ ensemble, leader }, { host }) => {
      const latency = { minMs: 300, maxMs: 400 };
      ensemble.world.network.setLatency(latency, leader.host.name, host.name);
      ensemble.world.network.setLatency(latency, host.name, leader.host.name);
    },
    ({ ensemble, leader }, { host }) => {
      const latency = { minMs: 0.1, maxMs: 1 };
      ensemble.world.network.setLatency(latency, leader.host.name, host.name);
      ensemble.world.network.setLatency(latency, host.name, leader.host.name);
    },
  ],
  [
    'whose disk is slow',
    (_, { host }) => host.disk.setLatency({ durable: { minMs: 300, maxMs: 400 } }),
    (_, { host }) => host.disk.setLatency({ durable: { minMs: 0.1, maxMs: 1 } }),
  ],
  ['that is paused', (_, { host }) => host.pause(), (_, { host }) => host.resume()],
];

describe.each(SLOWNESS)('a follower %s', (_, slowDown, speedUp) => {
  it('costs the others nothing, and has no more under way to it than the limits', async () => {
    const without = await Scene.begin(7);
    without.followers[0].crash();
    const alone = await without.commit(200);

    const scene = await Scene.begin(7);
    const { leader } = scene;
    const [slow, other] = scene.followers;
    slowDown(scene, slow);
    const beside = await scene.commit(200);
    expect(scene.leader).toBe(leader);
    expect(beside.allMs).toBeLessThan(1.1 * alone.allMs);
    expect(scene.watch.acknowledgedBy(slow.id)).toBeLessThan(scene.watch.acknowledgedBy(other.id));
    // It was given as much as it may have.
    expect(scene.watch.mostBytes).toBeGreaterThan(LIMITS.maxInflightBytes / 2);
    expect(scene.watch.mostBytes).toBeLessThanOrEqual(LIMITS.maxInflightBytes + LIMITS.maxAppendBytes);
    expect(scene.watch.mostMessages).toBeLessThanOrEqual(LIMITS.maxInflightMessages);

    speedUp(scene, slow);
    await scene.level(slow, other);
    scene.ensemble.checkHealth();
  });
});

describe('a follower that is far behind', () => {
  it('catches up from the log while the others keep pace and nothing waits for it', async () => {
    const scene = await Scene.begin(11);
    const { leader } = scene;
    const [away, other] = scene.followers;
    const quiet = await scene.commit(100);
    away.crash();
    await scene.commit(1_000);
    await scene.ensemble.restart(away);
    const backMs = scene.ensemble.world.nowMs;
    const target = leader.machine.appliedIndex;
    let slowestMs = 0;
    while (away.machine.appliedIndex < target) {
      slowestMs = Math.max(slowestMs, (await scene.commit(1)).slowestMs);
      // Of the batch that was just committed nothing more is owed than one of the two acknowledges later.
      expect(scene.watch.acknowledgedBy(other.id)).toBeGreaterThanOrEqual(leader.machine.appliedIndex - 2 * BATCH);
    }
    expect(scene.leader).toBe(leader);
    expect(slowestMs).toBeLessThan(2 * quiet.slowestMs);
    for (const { id } of [away, other]) {
      expect(scene.watch.longestSilenceMs(id, backMs)).toBeLessThanOrEqual(1.5 * LIMITS.heartbeatMs);
    }
    expect(scene.watch.mostBytes).toBeLessThanOrEqual(LIMITS.maxInflightBytes + LIMITS.maxAppendBytes);
    await scene.level(away, other);
    scene.ensemble.checkHealth();
  });
});
