import { beforeEach, describe, expect, it } from 'vitest';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import { Cluster } from '../../src/targets/sim/cluster.ts';
import { starter } from '../../src/targets/sim/starter.ts';
import { StoreClient } from '../../src/targets/sim/store-host.ts';
import { Application } from '../../src/workloads/application.ts';
import { readNode } from '../../src/workloads/nodes/use-node.ts';
import type { ApplicationWorld, Workload } from '../../src/workloads/workload.ts';

describe('an application', () => {
  const plan = { name: 'c9', sessionTimeoutMs: 2_000, workers: 2 };
  let cluster: Cluster;
  let running: boolean;
  let unexpected: unknown;
  const did: string[] = [];

  beforeEach(() => {
    cluster = new Cluster({ ...drawScenario(6), clients: [], faults: [] });
    cluster.start();
    running = true;
    unexpected = undefined;
    did.length = 0;
  });

  function run(...workloads: Workload[]): Application {
    const { recorder, world } = cluster;
    const around: ApplicationWorld = {
      servers: () => cluster.clientAddresses(),
      store: (runtime) => new StoreClient(runtime),
      group: () => undefined,
      locks: 1,
      nextCall: () => recorder.nextCall(),
      record: (process, event) => recorder.record(process, world.nowMs, event),
      nowMs: () => world.nowMs,
      random: (name) => world.random(name),
      drawn: () => undefined,
      running: () => running,
      mayTransfer: () => false,
      believed: () => undefined,
      unexpected: (_who, error) => {
        unexpected = error;
      },
    };
    const application = new Application(plan, starter(world.host(plan.name)), around, workloads);
    application.boot();
    return application;
  }

  const step = (name: string): Workload => ({
    name,
    checks: [],
    step: async ({ sleep }) => {
      did.push(name);
      await sleep(1);
    },
  });

  it('sets its workloads up once in a session, before any step', async () => {
    const slow: Workload = {
      ...step('append'),
      async setup({ client, sleep }) {
        await client.nodes.create('/list', new Uint8Array());
        await sleep(500);
        did.push('set up');
      },
    };
    run(slow);
    await cluster.runUntil(() => did.length > 5, 30_000);
    expect(did[0]).toBe('set up');
    expect(did.lastIndexOf('set up')).toBe(0);
    expect(unexpected).toBeUndefined();
  });

  it('draws steps by their shares', async () => {
    run({ ...step('often'), share: 4 }, step('seldom'));
    await cluster.runUntil(() => did.length >= 100, 120_000);
    const often = did.filter((name) => name === 'often').length;
    expect(often).toBeGreaterThan(65);
    expect(often).toBeLessThan(95);
  });

  it('takes a step that is due when it is, and none of those that are drawn meanwhile', async () => {
    const atMs: number[] = [];
    const due: Workload = {
      ...step('due'),
      dueInMs: ({ world }) => 1_000 - (world.nowMs() % 1_000),
      step: async ({ sleep, world }) => {
        atMs.push(Math.round(world.nowMs()) % 1_000);
        await sleep(1);
      },
    };
    run(due, step('drawn'));
    await cluster.runUntil(() => atMs.length >= 6, 30_000);
    expect(new Set(atMs)).toEqual(new Set([0]));
    expect(did).toEqual([]);
  });

  it('counts rounds of what has them, and has none otherwise', async () => {
    const rounds: Workload = {
      ...step('rounds'),
      hasRounds: true,
      step: async ({ round }) => Promise.resolve(round()),
    };
    expect(run(step('none')).rounds).toBeUndefined();
    const application = run(rounds);
    expect(application.rounds).toBe(0);
    await cluster.runUntil(() => (application.rounds ?? 0) >= 3, 30_000);
    expect(application.rounds).toBeGreaterThanOrEqual(3);
  });

  it('reads once more what is left when nothing new may begin, in a session that lives', async () => {
    const readings: number[] = [];
    const read: Workload = {
      ...step('some'),
      lastReading: async (session) => {
        expect(session.goesOn()).toBe(false);
        if ((await readNode(session, '/list')) !== undefined) readings.push(session.client.sessionId);
      },
    };
    const application = run(read);
    await cluster.runUntil(() => did.length > 3, 30_000);
    // It has expired when it goes on: the reading needs another one.
    const host = cluster.world.host(plan.name);
    host.pause();
    running = false;
    await cluster.runUntil(() => cluster.locks.livingSessions === 0, 30_000);
    host.resume();
    await cluster.runUntil(() => application.idle, 30_000);
    expect(unexpected).toBeUndefined();
    expect(application.idle).toBe(true);
    const sessions = cluster.recorder.events.filter((event) => event.type === 'session');
    expect(sessions.map(({ event }) => event)).toEqual(['connected', 'expired', 'connected', 'closed']);
    expect(readings).toEqual([sessions.at(-1)?.session]);
  });

  it('fails the run by an error that the SDK does not promise', async () => {
    const broken = new TypeError('of the workload');
    run({ ...step('broken'), step: () => Promise.reject(broken) });
    await cluster.runUntil(() => unexpected !== undefined, 30_000);
    expect(unexpected).toBe(broken);
  });

  it('ends its session when nothing new may begin', async () => {
    const application = run(step('some'));
    await cluster.runUntil(() => did.length > 3, 30_000);
    running = false;
    await cluster.runUntil(() => application.idle, 30_000);
    expect(application.idle).toBe(true);
    expect(cluster.recorder.events.filter((event) => event.type === 'session').map(({ event }) => event)).toEqual([
      'connected',
      'closed',
    ]);
  });
});
