import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/nemeses/index.ts';
import { drawableNemeses, drawLiveScenario, leastDurationMs } from '../../../src/scenario/draw/live.ts';
import { decodeScenario, encodeScenario } from '../../../src/scenario/scenario-file.ts';

const OPTIONS = { seed: 5, servers: 3, durationMs: 60_000, nemeses: ['kill', 'pause', 'partition'] } as const;

describe('a scenario for real processes', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(drawLiveScenario(OPTIONS)).toEqual(drawLiveScenario(OPTIONS));
    expect(drawLiveScenario({ ...OPTIONS, seed: 6 })).not.toEqual(drawLiveScenario(OPTIONS));
  });

  it('keeps its clients when only the faults are others', () => {
    expect(drawLiveScenario({ ...OPTIONS, nemeses: [] }).clients).toEqual(drawLiveScenario(OPTIONS).clients);
  });

  it.each([15_000, 60_000])('of %i ms gives each kind its turn, and ends every fault in time', (durationMs) => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const { faults } = drawLiveScenario({ ...OPTIONS, seed, durationMs });
      expect([...new Set(faults.map(({ kind }) => kind))].toSorted()).toEqual(['kill', 'partition', 'pause']);
      expect(Math.max(...faults.map(({ atMs }) => atMs))).toBeLessThan(durationMs);
    }
  });

  it('keeps the release that is the older version where versions change, and nowhere else', () => {
    const olderLockd = '/releases/1/main.js';
    const mixed = drawLiveScenario({ ...OPTIONS, nemeses: ['kill', 'rolling-upgrade'], olderLockd });
    expect(mixed.olderLockd).toBe(olderLockd);
    expect(drawLiveScenario({ ...OPTIONS, olderLockd })).toEqual(drawLiveScenario(OPTIONS));
  });

  it('gives several kinds their turns at once, each of them in the same time', () => {
    const nemeses = ['kill', 'pause', 'partition', 'cut', 'break', 'loss'];
    const durationMs = leastDurationMs(nemeses.length, 3);
    expect(durationMs).toBeLessThan(leastDurationMs(nemeses.length));
    for (let seed = 1; seed <= 30; seed += 1) {
      const { faults } = drawLiveScenario({ ...OPTIONS, seed, durationMs, nemeses, atOnce: 3 });
      const kinds = new Set(faults.map(({ kind }): string => kind));
      expect(nemeses.filter((kind) => !kinds.has(kind))).toEqual([]);
      expect(Math.max(...faults.map(({ atMs }) => atMs))).toBeLessThan(durationMs);
    }
  });

  it('has replicas where clients use them, or where some are to be struck', () => {
    expect(drawLiveScenario(OPTIONS).replicas).toBeUndefined();
    const used = drawLiveScenario({ ...OPTIONS, workloads: ['replicated-kv'] });
    expect(used).toMatchObject({ replicas: 3, clients: used.clients.map(() => ({ workloads: ['replicated-kv'] })) });
    const struck = drawLiveScenario({ ...OPTIONS, nemeses: ['kill-primary'], workloads: ['registers'] });
    expect(struck).toMatchObject({ replicas: 3 });
    expect(struck.clients[0]?.workloads).toEqual(['registers', 'replicated-kv']);
    const saved = { scenario: struck, failure: undefined, traceHash: '0' };
    expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
  });

  it('strikes clients in place of holders where nobody takes a lock', () => {
    const struck = (workloads: readonly string[]): readonly string[] => {
      const { faults } = drawLiveScenario({ ...OPTIONS, nemeses: ['pause-holder'], workloads });
      return faults.flatMap((fault) => (fault.kind === 'pause' ? fault.host : []));
    };
    expect(struck(['critical-sections'])).toEqual(expect.arrayContaining([expect.stringMatching(/^holder:lock-\d$/)]));
    expect(struck(['list-append', 'registers']).filter((host) => !/^c\d$/.test(host))).toEqual([]);
    expect(struck(['list-append', 'registers']).length).toBe(struck(['critical-sections']).length);
  });

  it('hangs the disk of the store only where somebody writes to it', () => {
    const hung = (workloads: readonly string[]): readonly string[] => {
      const { faults } = drawLiveScenario({ ...OPTIONS, nemeses: ['hung-disk'], workloads });
      return faults.flatMap((fault) => (fault.kind === 'hung-disk' ? fault.host : []));
    };
    expect(hung(['critical-sections'])).toContain('kv');
    expect(hung(['list-append', 'fair-queue'])).not.toContain('kv');
    expect(hung(['list-append', 'fair-queue']).length).toBe(hung(['critical-sections']).length);
  });

  it('can hold every kind that is drawn by itself, and goes to a file and back', () => {
    const nemeses = drawableNemeses();
    const durationMs = leastDurationMs(nemeses.length);
    const scenario = drawLiveScenario({ ...OPTIONS, durationMs, nemeses });
    const kinds = new Set(scenario.faults.map(({ kind }): string => kind));
    expect(nemeses.filter((kind) => !kinds.has(kind))).toEqual([]);
    const saved = { scenario, failure: undefined, traceHash: 'live' };
    expect(decodeScenario(encodeScenario(saved))).toEqual(saved);
  });

  it('clogs a link each time on which something is sent, whoever leads', () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const { faults } = drawLiveScenario({ ...OPTIONS, seed, nemeses: ['clog'] });
      const turns = new Map<number, Fault[]>();
      for (const fault of faults) {
        const turn = Math.floor((fault.atMs - 1_500) / 6_000);
        turns.set(turn, [...(turns.get(turn) ?? []), fault]);
      }
      expect(turns.size).toBeGreaterThan(5);
      for (const clogs of turns.values()) {
        const between = clogs.flatMap((fault) => (fault.kind === 'clog' ? [[fault.from, fault.to]] : []));
        expect(between.some((ends) => ends.every((name) => /^s\d$/.test(name)))).toBe(true);
      }
    }
  });

  it('that is too short for its kinds is refused, since one of them would silently be missing', () => {
    const durationMs = leastDurationMs(3) - 1;
    expect(() => drawLiveScenario({ ...OPTIONS, durationMs })).toThrow('are too short for 3 kinds of faults');
  });

  it('with servers that fall behind writes so much that the others take snapshots meanwhile', () => {
    for (const durationMs of [30_000, 3_600_000]) {
      const { clients, snapshots, faults } = drawLiveScenario({ ...OPTIONS, durationMs, nemeses: ['fall-behind'] });
      const bytesPerMs = clients.reduce((sum, { bulkBytesPerSecond = 0 }) => sum + bulkBytesPerSecond, 0) / 1_000;
      const down = faults.flatMap((fault) =>
        fault.kind === 'fall-behind' ? [[fault.atMs, fault.forMs] as const] : [],
      );
      expect(down.length).toBeGreaterThan(1);
      expect(down.every(([, forMs]) => forMs * bytesPerMs >= 3 * (snapshots?.logBytes ?? Infinity))).toBe(true);
      // One minority at a time: two may be a majority.
      expect(down.every(([atMs], n) => atMs >= (down[n - 1] ?? [0, 0]).reduce((sum, ms) => sum + ms, 0))).toBe(true);
    }
  });
});
