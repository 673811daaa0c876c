import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../src/campaigns/live/execute.ts';
import { decodeHistory } from '../../src/history/json-lines.ts';
import type { Fault } from '../../src/nemeses/index.ts';
import { USUAL_NAMES } from '../../src/workloads/index.ts';
import { Volumes } from '../../src/targets/live/disks/volumes.ts';
import { namespacesMissing } from '../../src/targets/live/network/namespaces.ts';
import { killOfLeader, scenarioOf } from './support/live-scenario.ts';

/** A machine on which tests run is busy. */
const RECOVERY_MS = 40_000;
const LIMIT_MS = 180_000;
/** A kind that has not struck yet has another turn, as on a busy machine. */
const AT_LEAST_ONE: unknown = expect.any(Number);

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-live-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const pauseOfHolder: Fault = { kind: 'pause', atMs: 5_000, forMs: 3_500, host: 'holder:lock-0' };

describe('real servers, clients and store', () => {
  it(
    'survive a kill of the leader, a pause of a holder and a partition, each of which was seen',
    async (context) => {
      const reason = namespacesMissing();
      if (reason !== undefined) return context.skip(reason);
      const isolated: Fault = {
        kind: 'partition',
        atMs: 9_500,
        forMs: 3_000,
        groups: [['leader'], ['s1', 's2', 's3']],
      };
      const faults = [killOfLeader, pauseOfHolder, isolated];
      const { clients, ...plan } = scenarioOf(14_000, faults, [...USUAL_NAMES, 'crowd']);
      // Two applications in each process, and sessions beside them that reconnect whenever a leader is gone.
      const crowded = { ...plan, clients: clients.map((client) => ({ ...client, sessions: 2, crowd: 5 })) };
      const result = await execute(crowded, { target: 'live', directory, recoveryMs: RECOVERY_MS });
      expect(result).toMatchObject({
        verdict: 'valid',
        why: 'nothing was wrong',
        begun: { kill: AT_LEAST_ONE, pause: AT_LEAST_ONE, partition: AT_LEAST_ONE },
      });
      expect(result.struck).toMatchObject({ kill: 1, restart: 1, 'timer-late-after-pause': 1 });
      expect(result.struck['frame-held-by-cut']).toBeGreaterThan(0);
      expect(result.leaderChanges).toBeGreaterThan(0);
      const history = decodeHistory(readFileSync(join(directory, 'history.jsonl'), 'utf8'));
      expect(history.filter((event) => event.type === 'ok' && event.f === 'acquire').length).toBeGreaterThan(5);
      const callers = new Set(history.flatMap((event) => (event.type === 'invoke' ? event.process : [])));
      expect([...callers].toSorted()).toEqual(['c1', 'c1.2', 'c2', 'c2.2', 'c3', 'c3.2']);
      expect(result.crowd).toMatchObject({ planned: 30 });
      expect(result.crowd?.reconnected).toBeGreaterThan(0);
      expect(result.availability.distributions['kill']?.count).toBe(6);
      expect(JSON.parse(readFileSync(join(directory, 'result.json'), 'utf8'))).toMatchObject({ verdict: 'valid' });
    },
    LIMIT_MS,
  );

  it(
    'lose nothing that was acknowledged when the power of all servers fails',
    async (context) => {
      const volumes = await Volumes.open();
      await volumes.close();
      const reason = volumes.lacks.get('powerLoss');
      if (reason !== undefined) return context.skip(reason);
      const hosts = ['s1', 's2', 's3'];
      const outage: Fault = { kind: 'crash', atMs: 6_500, forMs: 500, hosts, tear: 'none' };
      // Bursts write all the time, so that something is always under way.
      const workloads = ['registers', 'critical-sections', 'bursts'];
      const result = await execute(scenarioOf(9_000, [outage], workloads), {
        target: 'live',
        directory,
        recoveryMs: RECOVERY_MS,
      });
      expect(`${result.verdict}: ${result.why}`).toBe('valid: nothing was wrong');
      expect(result).toMatchObject({ begun: { crash: AT_LEAST_ONE } });
      // One that hears of its lost disk first ends before it is killed.
      expect(result.struck).toMatchObject({ crash: 3, restart: 3, 'unsynced-change-lost': 3 });
      expect(result.log).toMatchObject({ acknowledgedLost: 0 });
      expect(result.log?.acknowledged).toBeGreaterThan(20);
    },
    LIMIT_MS,
  );
});
