/** Three replicas of the fenced store beside three servers, as real processes under faults of both. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../../src/campaigns/live/execute.ts';
import { decodeHistory } from '../../../src/history/json-lines.ts';
import type { Fault } from '../../../src/nemeses/index.ts';
import { namespacesMissing } from '../../../src/targets/live/network/namespaces.ts';
import { killOfLeader, scenarioOf } from '../support/live-scenario.ts';

/** A machine on which tests run is busy. */
const RECOVERY_MS = 40_000;
const LIMIT_MS = 180_000;
const REPLICAS = ['r1', 'r2', 'r3'];

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-replicas-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const killOfPrimary: Fault = { kind: 'kill', atMs: 4_000, forMs: 1_000, hosts: ['primary'] };
const pauseOfPrimary: Fault = { kind: 'pause', atMs: 9_000, forMs: 3_000, host: 'primary' };
const both: readonly Fault[] = [
  { kind: 'partition', atMs: 14_500, forMs: 3_000, groups: [['leader'], ['s1', 's2', 's3']] },
  { kind: 'partition', atMs: 14_500, forMs: 3_000, groups: [['primary'], REPLICAS] },
];

describe('real replicas of a fenced store', () => {
  it(
    'lose nothing under kills and a pause of their primary and of the leader, and partitions of both',
    async (context) => {
      const reason = namespacesMissing();
      if (reason !== undefined) return context.skip(reason);
      const faults = [killOfLeader, killOfPrimary, pauseOfPrimary, ...both];
      const scenario = scenarioOf(19_000, faults, ['replicated-kv']);
      const result = await execute(scenario, { target: 'live', directory, recoveryMs: RECOVERY_MS });
      expect(`${result.verdict}: ${result.why}`).toBe('valid: nothing was wrong');
      expect(result.struck['frame-held-by-cut']).toBeGreaterThan(0);
      const counts = (checker: string) => result.verdicts.find((each) => each.checker === checker)?.counts;
      // The one that is killed, and the one that is paused, have each a successor.
      expect(counts('configurations')?.['changesOfPrimary']).toBeGreaterThanOrEqual(1);
      expect(counts('epochs')?.['epochs']).toBeGreaterThan(1);
      expect(counts('linearizable-keys')?.['operations']).toBeGreaterThan(100);
      expect(counts('replicas')).toMatchObject({ replicas: 3 });
      expect(counts('fence')?.['accepted']).toBeGreaterThan(0);
      const history = decodeHistory(readFileSync(join(directory, 'history.jsonl'), 'utf8'));
      const acknowledged = history.filter((event) => event.type === 'ok' && event.f === 'kv-put');
      expect(acknowledged.length).toBeGreaterThan(50);
      const told = new Set(history.flatMap((event) => (event.type === 'kept-all' ? event.process : [])));
      expect([...told].toSorted()).toEqual(REPLICAS);
    },
    LIMIT_MS,
  );
});
