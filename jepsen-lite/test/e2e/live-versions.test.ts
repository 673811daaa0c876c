import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../src/campaigns/live/execute.ts';
import type { Fault } from '../../src/nemeses/index.ts';
import { drawLiveScenario } from '../../src/scenario/draw/live.ts';
import { WORKLOADS } from '../../src/workloads/index.ts';

/** A machine on which tests run is busy. */
const RECOVERY_MS = 40_000;
const LIMIT_MS = 300_000;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-live-versions-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('real servers of two versions', () => {
  it(
    'lose nothing under all workloads while one is upgraded and taken back, and all are upgraded; then the version is raised',
    async () => {
      // The third one is upgraded when everything has healed.
      const faults: readonly Fault[] = [
        { kind: 'change-version', atMs: 1_500, host: 's1', version: 'newer' },
        { kind: 'change-version', atMs: 1_600, host: 's1', version: 'older' },
        { kind: 'change-version', atMs: 1_700, host: 'leader', version: 'newer' },
        { kind: 'kill', atMs: 8_000, forMs: 500, hosts: ['leader'] },
      ];
      const workloads = WORKLOADS.filter(({ alone }) => alone !== true).map(({ name }) => name);
      const options = { seed: 1, servers: 3, durationMs: 10_000, nemeses: ['rolling-upgrade'], clients: 2 } as const;
      const { clients, ...plan } = drawLiveScenario({ ...options, workloads });
      // Each workload is there; how much of it there is others show. Snapshots are taken all the same.
      const light = clients.map((client) => ({ ...client, crowd: 10, bulkBytesPerSecond: 128 * 1024 }));
      const scenario = { ...plan, clients: light, faults };
      const result = await execute(scenario, { target: 'live', directory, recoveryMs: RECOVERY_MS, loopback: true });
      // Whether each workload got enough done for its figures is for longer runs: here the machine is busy.
      expect([result.failure, result.verdict === 'invalid' ? result.why : undefined]).toEqual([undefined, undefined]);
      expect(result.struck['version-changed']).toBeGreaterThanOrEqual(4);
      expect(result.scrapes?.stateVersion).toBe(LATEST_STATE_VERSION);
      expect(result.log).toMatchObject({ acknowledgedLost: 0 });
    },
    LIMIT_MS,
  );
});
