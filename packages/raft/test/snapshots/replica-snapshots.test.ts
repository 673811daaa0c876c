import { describe, expect, it } from 'vitest';
import { silentLogger, type Logger } from '@holdfast/runtime';
import { serverId } from '../../src/core/index.ts';
import { Ensemble } from './ensemble.ts';

const OFTEN = { snapshotLogBytes: 4_000, snapshotTrailingBytes: 1_000, snapshotSliceBytes: 300 };

describe('a replica that takes snapshots', () => {
  it('forgets the log before them, but for a margin, and finds its state again', async () => {
    const ensemble = new Ensemble(1, OFTEN);
    await ensemble.start();
    await ensemble.run(200);
    for (const server of ensemble.servers) {
      const { snapshot, firstIndex } = server.log;
      expect(server.running.snapshotCounters.taken).toBeGreaterThan(3);
      expect(firstIndex).toBeGreaterThan(100);
      expect(firstIndex).toBeLessThanOrEqual(snapshot?.index ?? 0);
    }
    const commands = ensemble.leader.machine.commands;
    for (const server of ensemble.servers) server.crash();
    for (const server of ensemble.servers) await ensemble.restart(server);
    await ensemble.agreed();
    for (const { machine } of ensemble.servers) {
      expect(machine.restores).toHaveLength(1);
      expect(machine.commands).toEqual(commands);
    }
    ensemble.checkHealth();
  });

  it('brings a follower that was away for longer than the log reaches back, by a snapshot and what follows it', async () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const ensemble = new Ensemble(seed, OFTEN);
      await ensemble.start();
      const away = ensemble.others(ensemble.leader)[0];
      if (away === undefined) throw new Error('three were started');
      away.crash();
      await ensemble.run(200);
      await ensemble.restart(away);
      await ensemble.agreed();
      expect(away.running.snapshotCounters.installed).toBe(1);
      expect(away.machine.commands).toEqual(ensemble.leader.machine.commands);
      await ensemble.run(20);
      // What it has installed is durable: it goes on from there.
      away.crash();
      await ensemble.restart(away);
      await ensemble.agreed();
      expect(away.machine.commands).toEqual(ensemble.leader.machine.commands);
      ensemble.checkHealth();
    }
  });

  it('goes on where a transfer broke off', async () => {
    const ensemble = new Ensemble(3, { ...OFTEN, snapshotBytesPerSecond: 5_000 });
    await ensemble.start();
    const { leader } = ensemble;
    const away = ensemble.others(leader)[0];
    if (away === undefined) throw new Error('three were started');
    away.crash();
    await ensemble.run(200);
    const began = ensemble.world.nowMs;
    const stateBytes = leader.log.snapshot?.bytes ?? 0;
    expect(stateBytes).toBeGreaterThan(15_000);
    await ensemble.restart(away);
    // At this pace no transfer ends between two breaks: only one that goes on ends at all.
    for (let breaks = 0; breaks < 3; breaks += 1) {
      await ensemble.world.run({ forMs: 1_000 });
      expect(away.running.snapshotCounters.installed).toBe(0);
      ensemble.world.network.breakConnections(leader.host.name, away.host.name);
    }
    await ensemble.agreed();
    expect(away.running.snapshotCounters.installed).toBe(1);
    const paceMs = (stateBytes / 5_000) * 1_000;
    expect(ensemble.world.nowMs - began).toBeLessThan(2.5 * paceMs + 5_000);
    ensemble.checkHealth();
  });

  it('goes on with a transfer when another server leads, and when its sender leads again', async () => {
    const ensemble = new Ensemble(3, { ...OFTEN, snapshotBytesPerSecond: 5_000 });
    await ensemble.start();
    const { leader, world } = ensemble;
    const [away, other] = ensemble.others(leader);
    if (away === undefined || other === undefined) throw new Error('three were started');
    away.crash();
    await ensemble.run(200);
    const { bytes = 0, index } = leader.log.snapshot ?? {};
    const paceMs = (bytes / 5_000) * 1_000;
    await ensemble.restart(away);
    const began = world.nowMs;
    await world.run({ forMs: paceMs / 3 });
    leader.running.transferLeadership(serverId(other.id));
    await ensemble.until(() => other.running.status.ready);
    await world.run({ forMs: paceMs / 3 });
    other.running.transferLeadership(serverId(leader.id));
    await ensemble.until(() => leader.running.status.ready);
    await ensemble.until(() => away.running.snapshotCounters.installed === 1);
    // Had it begun anew once, it would have taken a third longer at least.
    expect(world.nowMs - began).toBeLessThan(1.2 * paceMs + 200);
    expect(away.log.snapshot?.index).toBe(index);
    // What follows the snapshot comes from the log.
    await ensemble.run(5);
    expect(away.running.snapshotCounters.installed).toBe(1);
    ensemble.checkHealth();
  });

  it('reports a follower that cannot catch up, since the log grows faster than it gets the snapshot, once a minute', async () => {
    const warnings: object[] = [];
    const logger: Logger = {
      ...silentLogger,
      warn: (fields, message) => {
        if (message.startsWith('a server cannot catch up')) warnings.push(fields);
      },
      child: () => logger,
    };
    const slowly = { ...OFTEN, snapshotTrailingBytes: 0, snapshotBytesPerSecond: 500 };
    const ensemble = new Ensemble(3, slowly, { logger });
    const { world } = ensemble;
    await ensemble.start();
    const { leader } = ensemble;
    const [away] = ensemble.others(leader);
    if (away === undefined) throw new Error('three were started');
    away.crash();
    await ensemble.run(200);
    // Nobody could be helped: it is away.
    expect([leader.running.snapshotCounters.overtaken, warnings]).toEqual([0, []]);
    await ensemble.restart(away);
    const overtaken = (): number => leader.running.snapshotCounters.overtaken;
    const write = async (): Promise<void> => {
      leader.running.propose(new TextEncoder().encode('.'.repeat(100)));
      await world.run({ forMs: 20 });
    };
    for (let n = 0; n < 2_000 && overtaken() === 0; n += 1) await write();
    expect(overtaken()).toBe(1);
    const { index } = leader.log.snapshot ?? { index: 0 };
    const reported = { peer: away.id, heldBytes: 4 * OFTEN.snapshotLogBytes, snapshotBytesPerSecond: 500 };
    expect(warnings).toMatchObject([reported]);
    // What is known is not counted again, however often the log is compacted.
    while ((leader.log.snapshot?.index ?? 0) <= index + 100) await write();
    expect(overtaken()).toBe(1);
    expect(leader.running.status.role).toBe('leader');
    // As soon as the writes end it catches up.
    await ensemble.until(() => away.machine.appliedIndex === leader.machine.appliedIndex, 600_000);
    ensemble.checkHealth();
  });

  it('does not spread it over time when nothing can be committed without it', async () => {
    const ensemble = new Ensemble(8, { ...OFTEN, snapshotBytesPerSecond: 2_000 });
    await ensemble.start();
    const { leader } = ensemble;
    const [away, other] = ensemble.others(leader);
    if (away === undefined || other === undefined) throw new Error('three were started');
    away.crash();
    await ensemble.run(200);
    const began = ensemble.world.nowMs;
    await ensemble.restart(away);
    await ensemble.world.run({ forMs: 500 });
    expect(away.running.snapshotCounters.installed).toBe(0);
    other.crash();
    await ensemble.run(1);
    expect(ensemble.world.nowMs - began).toBeLessThan(1_500);
    expect(((leader.log.snapshot?.bytes ?? 0) / 2_000) * 1_000).toBeGreaterThan(5_000);
    expect(ensemble.leader).toBe(leader);
  });

  it('goes on with a transfer as soon as the peer is connected after a partition, and does not wait for TCP', async () => {
    const ensemble = new Ensemble(3, { ...OFTEN, snapshotBytesPerSecond: 5_000 });
    await ensemble.start();
    const { leader, world } = ensemble;
    const away = ensemble.others(leader)[0];
    if (away === undefined) throw new Error('three were started');
    away.crash();
    await ensemble.run(200);
    const paceMs = ((leader.log.snapshot?.bytes ?? 0) / 5_000) * 1_000;
    await ensemble.restart(away);
    await world.run({ forMs: 1_000 });
    world.network.partition([[away.host.name], ensemble.others(away).map(({ host }) => host.name)]);
    // TCP tries again 6.2 s and 12.6 s after the cut.
    await world.run({ forMs: 6_500 });
    expect(away.running.snapshotCounters.installed).toBe(0);
    world.network.heal();
    const healedMs = world.nowMs;
    await ensemble.agreed();
    expect(away.running.snapshotCounters.installed).toBe(1);
    expect(world.nowMs - healedMs).toBeLessThan(paceMs + 1_000);
    ensemble.checkHealth();
  });

  it('goes on committing and applying while a follower installs', async () => {
    const ensemble = new Ensemble(4, { ...OFTEN, snapshotBytesPerSecond: 10_000 });
    await ensemble.start();
    const away = ensemble.others(ensemble.leader)[0];
    if (away === undefined) throw new Error('three were started');
    away.crash();
    await ensemble.run(150);
    await ensemble.restart(away);
    const before = ensemble.leader.machine.commands.length;
    for (let count = 0; count < 30; count += 1) {
      ensemble.leader.running.propose(new TextEncoder().encode(`meanwhile ${count}`));
      await ensemble.world.run({ forMs: 10 });
    }
    await ensemble.until(() => ensemble.leader.machine.commands.length === before + 30, 1_000);
    expect(away.running.snapshotCounters.installed).toBe(0);
    await ensemble.until(() => away.machine.commands.length === before + 30);
    expect(away.machine.commands).toEqual(ensemble.leader.machine.commands);
    ensemble.checkHealth();
  });

  it('cancels what it takes when it is stopped, and leaves no file of it', async () => {
    const ensemble = new Ensemble(5, { ...OFTEN, snapshotSliceBytes: 1 });
    await ensemble.start();
    await ensemble.run(40);
    const server = ensemble.leader;
    await ensemble.until(() => server.machine.snapshotsBegun > 0);
    await ensemble.world.complete(server.running.stop());
    expect(server.host.disk.files().filter((name) => name.endsWith('.tmp'))).toEqual([]);
    ensemble.checkHealth();
  });
});

describe('a replica whose machine refuses the snapshot of its leader', () => {
  it('lives and keeps its log, tries again ever later, and goes on with one that its machine takes', async () => {
    const ensemble = new Ensemble(6, OFTEN);
    await ensemble.start();
    await ensemble.run(20);
    const away = ensemble.others(ensemble.leader)[0];
    if (away === undefined) throw new Error('three were started');
    const { commands } = away.machine;
    const known = commands.length;
    away.crash();
    await ensemble.run(200);
    await ensemble.restart(away);
    away.machine.refuses = true;
    const { lastIndex } = away.log.durable;
    await ensemble.until(() => away.running.snapshotCounters.refused > 0);
    await ensemble.world.run({ forMs: 120_000 });
    expect(away.running.snapshotCounters.refused).toBeLessThan(8);
    expect(away.running.status.lastIndex).toBe(lastIndex);
    expect(away.host.disk.files().filter((name) => name.includes('snapshot.tmp'))).toEqual([]);
    // Neither does a start find anything of it.
    away.crash();
    await ensemble.restart(away);
    expect(away.log.durable.lastIndex).toBe(lastIndex);
    expect(away.machine.commands).toEqual(commands.slice(0, away.machine.commands.length));
    await ensemble.agreed();
    expect(away.running.snapshotCounters).toMatchObject({ installed: 1, refused: 0 });
    expect(away.machine.commands.length).toBeGreaterThan(known);
    ensemble.checkHealth();
  });
});

describe('a replica that restores the snapshot of its leader', () => {
  it('has its old log, and nothing of the snapshot, when it loses its power meanwhile', async () => {
    const ensemble = new Ensemble(7, OFTEN);
    await ensemble.start();
    await ensemble.run(20);
    const away = ensemble.others(ensemble.leader)[0];
    if (away === undefined) throw new Error('three were started');
    away.crash();
    await ensemble.run(200);
    await ensemble.restart(away);
    const { lastIndex } = away.log.durable;
    let building = false;
    away.machine.building = () => {
      building = true;
      return new Promise(() => {});
    };
    await ensemble.until(() => building);
    away.crash();
    await ensemble.restart(away);
    expect(away.log.durable.lastIndex).toBe(lastIndex);
    await ensemble.agreed();
    expect(away.running.snapshotCounters.installed).toBe(1);
    ensemble.checkHealth();
  });
});
