import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../src/campaigns/live/execute.ts';
import type { Fault } from '../../src/nemeses/index.ts';
import { drawLiveScenario } from '../../src/scenario/draw/live.ts';

/** A machine on which tests run is busy. */
const RECOVERY_MS = 40_000;
const LIMIT_MS = 180_000;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-live-members-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('real servers that come and go', () => {
  it(
    'lose nothing while leadership is transferred, members change and one is sent a snapshot',
    async () => {
      const faults: readonly Fault[] = [
        { kind: 'transfer-leadership', atMs: 1_500, server: 0 },
        { kind: 'add-member', atMs: 2_000, server: 4, observer: true, startAfterMs: 0 },
        { kind: 'promote-member', atMs: 2_500, server: 4 },
        { kind: 'remove-member', atMs: 3_000, server: 'leader' },
        { kind: 'fall-behind', atMs: 5_500, forMs: 7_500, hosts: ['s2'] },
        { kind: 'transfer-leadership', atMs: 14_000, server: 0 },
      ];
      const options = { seed: 1, servers: 3, durationMs: 15_000, nemeses: ['fall-behind'], clients: 2 } as const;
      const scenario = { ...drawLiveScenario({ ...options, workloads: ['registers', 'critical-sections'] }), faults };
      const result = await execute(scenario, { target: 'live', directory, recoveryMs: RECOVERY_MS, loopback: true });
      expect(`${result.verdict}: ${result.why}`).toBe('valid: nothing was wrong');
      // On a busy machine a kind that has not struck yet has another turn.
      expect(Object.keys(result.begun)).toEqual(expect.arrayContaining(faults.map(({ kind }) => kind)));
      expect(result.struck).toMatchObject({ 'member-added': 1, 'member-promoted': 1, 'member-removed': 1 });
      // It knew the observer only.
      expect(result.struck['observer-served']).toBeGreaterThan(0);
      expect(result.struck['snapshot-installed']).toBeGreaterThan(0);
      expect(result.log).toMatchObject({ acknowledgedLost: 0 });
      // Of at least the three members in the end.
      expect(result.log?.snapshots).toBeGreaterThan(2);
    },
    LIMIT_MS,
  );
});
