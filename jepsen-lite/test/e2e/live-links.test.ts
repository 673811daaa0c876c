import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../src/campaigns/live/execute.ts';
import type { Fault } from '../../src/nemeses/index.ts';
import { namespacesMissing } from '../../src/targets/live/network/namespaces.ts';
import { killOfLeader, scenarioOf } from './support/live-scenario.ts';

/** A machine on which tests run is busy. */
const RECOVERY_MS = 40_000;
const LIMIT_MS = 180_000;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-live-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** One way of each link between servers: something is sent there whoever leads, and if nobody does. */
const linksBetween = [
  ['s1', 's2'],
  ['s2', 's3'],
  ['s3', 's1'],
] as const;
const slowNetwork = (atMs: number): Fault => ({
  kind: 'slow-network',
  atMs,
  forMs: 1_500,
  latency: { minMs: 5, maxMs: 60 },
});
const narrow = (atMs: number): Fault[] =>
  linksBetween.map(([from, to]) => ({ kind: 'bandwidth', atMs, forMs: 1_500, from, to, bytesPerSecond: 5_000 }));

describe('links between real servers, clients and store', () => {
  it(
    'survive slow, narrow and lossy links and a cut between hosts of their own, where proxies hide no cut',
    async (context) => {
      const reason = namespacesMissing();
      if (reason !== undefined) return context.skip(reason);
      const cuts = linksBetween.map(([from, to]): Fault => ({ kind: 'cut', atMs: 4_000, forMs: 2_000, from, to }));
      const lossy: Fault = { kind: 'packet-loss', atMs: 3_000, forMs: 1_000, share: 0.2 };
      const faults = [slowNetwork(1_500), lossy, ...narrow(2_000), ...cuts];
      const result = await execute(scenarioOf(7_000, faults, ['critical-sections']), {
        target: 'live',
        directory,
        recoveryMs: RECOVERY_MS,
      });
      expect(`${result.verdict}: ${result.why}`).toBe('valid: nothing was wrong');
      expect(result).toMatchObject({ leftOut: {}, onLoopback: undefined });
      for (const effect of ['frame-slowed', 'packet-dropped', 'bytes-delayed', 'frame-held-by-cut']) {
        expect(result.struck[effect]).toBeGreaterThan(0);
      }
    },
    LIMIT_MS,
  );

  it(
    'survive a kill, a partition, slow, narrow and clogged links on the loopback, where proxies stand for links',
    async () => {
      const apart: Fault = { kind: 'partition', atMs: 4_500, forMs: 2_500, groups: [['s1'], ['s2', 's3']] };
      const clogs = linksBetween.map(([from, to]): Fault => ({ kind: 'clog', atMs: 9_000, forMs: 1_500, from, to }));
      const faults = [killOfLeader, apart, slowNetwork(7_500), ...narrow(7_500), ...clogs];
      const options = { target: 'live', directory, recoveryMs: RECOVERY_MS, loopback: true } as const;
      const result = await execute(scenarioOf(11_000, faults, ['critical-sections']), options);
      expect(`${result.verdict}: ${result.why}`).toBe('valid: nothing was wrong');
      expect(result).toMatchObject({ leftOut: {} });
      expect(Object.keys(result.begun).toSorted()).toEqual(['bandwidth', 'clog', 'kill', 'partition', 'slow-network']);
      for (const effect of ['kill', 'frame-held-by-cut', 'frame-slowed', 'bytes-delayed', 'frame-held-by-clog']) {
        expect(result.struck[effect]).toBeGreaterThan(0);
      }
      expect(result.onLoopback).toBe('it was asked for');
    },
    LIMIT_MS,
  );
});
