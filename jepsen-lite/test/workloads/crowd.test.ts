import { beforeAll, describe, expect, it } from 'vitest';
import { resultOf, type RunResult } from '../../src/campaigns/live/result.ts';
import type { Fault } from '../../src/nemeses/index.ts';
import { drawLiveScenario } from '../../src/scenario/draw/live.ts';
import { decodeScenario, encodeScenario } from '../../src/scenario/scenario-file.ts';
import { runScenario, type SeedResult } from '../../src/targets/sim/run.ts';

const drawn = drawLiveScenario({
  seed: 3,
  servers: 3,
  durationMs: 8_000,
  clients: 2,
  sessionsPerClient: 2,
  workloads: ['critical-sections', 'crowd'],
  nemeses: ['reconnect-all'],
});
/** A client's process ends with all of its applications, and its crowd. */
const killOfClient: Fault = { kind: 'kill', atMs: 5_000, forMs: 500, hosts: ['c1'] };
const scenario = {
  ...drawn,
  clients: drawn.clients.map((client) => ({ ...client, crowd: 5 })),
  faults: [...drawn.faults, killOfClient],
};

describe('a crowd of sessions', () => {
  let ran: SeedResult;
  let result: RunResult;

  beforeAll(async () => {
    ran = await runScenario(scenario);
    result = resultOf({ ...ran, target: 'sim', failure: ran.failure, leftOut: new Map(), leaderChanges: 0, wallMs: 1 });
  }, 60_000);

  it('connects at once, reconnects when its connections break, and leaves with the clients', () => {
    expect(ran.failure).toBeUndefined();
    expect(result.crowd?.planned).toBe(20);
    // Those of the killed client begin anew.
    expect(result.crowd?.connected).toBeGreaterThanOrEqual(30);
    expect(result.crowd?.reconnected).toBeGreaterThanOrEqual(20);
    const closed = ran.history.filter((event) => event.type === 'session' && event.event === 'closed');
    expect(closed.filter(({ process }) => process.endsWith('.crowd'))).toHaveLength(20);
  });

  it('is held by every application of a process, each of which works by its own name', () => {
    const names = (type: 'invoke' | 'session') => [
      ...new Set(ran.history.flatMap((event) => (event.type === type ? event.process : []))),
    ];
    expect(names('invoke').toSorted()).toEqual(['c1', 'c1.2', 'c2', 'c2.2']);
    expect(names('session').filter((name) => name.endsWith('crowd'))).toHaveLength(4);
    expect(Object.keys(result.availability.longestGapMs)).toEqual(['c1', 'c1.2', 'c2', 'c2.2']);
  });

  it('that did not gather shows nothing', () => {
    const few = ran.history.filter(({ process }) => !process.startsWith('c1.') || !process.endsWith('.crowd'));
    const fewer = { ...ran, history: few, failure: undefined, leftOut: new Map(), leaderChanges: 0, wallMs: 1 };
    const { verdict, why } = resultOf({ ...fewer, target: 'sim', verdicts: [] });
    expect(verdict).toBe('unknown');
    expect(why).toMatch(/^only \d+ of the crowd's 20 sessions began$/);
  });

  it('goes to a file and back', () => {
    const saved = { scenario, failure: undefined, traceHash: '0' };
    expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
  });

  it('has two hundred sessions in a live run, however many processes share them', () => {
    const crowdOf = (clients: number, sessionsPerClient: number): number =>
      drawLiveScenario({
        seed: 1,
        servers: 3,
        durationMs: 1,
        nemeses: [],
        workloads: ['crowd'],
        clients,
        sessionsPerClient,
      }).clients.reduce((sum, { crowd = 0, sessions = 1 }) => sum + crowd * sessions, 0);
    expect([crowdOf(1, 1), crowdOf(4, 1), crowdOf(4, 5)]).toEqual([200, 200, 200]);
  });
});
