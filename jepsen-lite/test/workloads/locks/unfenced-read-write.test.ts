import { describe, expect, it } from 'vitest';

import { lockName, holderOf } from '../../../src/plan/plan.ts';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario } from '../../../src/targets/sim/run.ts';

const SESSION_MS = 2_000;
const PAUSES = 8;
const PAUSE_EVERY_MS = 6_000;

/** Clients that do nothing else while whoever holds the lock is paused again and again, each time until the session is over. */
async function pausedHolders(workload: string) {
  const drawn = drawScenario(6, { durationMs: (PAUSES + 1) * PAUSE_EVERY_MS });
  const clients = ['c1', 'c2', 'c3'].map((name) => {
    return { name, sessionTimeoutMs: SESSION_MS, workers: 2, maxPauseMs: 100, workloads: [workload] };
  });
  const faults = Array.from({ length: PAUSES }, (_, n) => {
    const atMs = (n + 1) * PAUSE_EVERY_MS;
    return { kind: 'pause', atMs, forMs: 2 * SESSION_MS, host: holderOf(lockName(0)) } as const;
  });
  const { failure, verdicts } = await runScenario({ ...drawn, clients, locks: 1, faults });
  expect(failure).toBeUndefined();
  return (checker: string) => verdicts.find((verdict) => verdict.checker === checker);
}

describe('a read-write lock whose writers are paused', { timeout: 120_000 }, () => {
  it('lets them write too late where there is no fence, which is the control', async () => {
    const verdictOf = await pausedHolders('unfenced-read-write');
    const unfenced = verdictOf('unfenced');
    expect(unfenced?.valid).toBe(true);
    expect(unfenced?.counts['staleWrites']).toBeGreaterThan(0);
    expect(unfenced?.counts['lostUpdates']).toBeGreaterThan(0);
    // The locks themselves are what they promise: it is the late writer that nobody stops.
    expect(verdictOf('owners')).toMatchObject({ valid: true, broken: [] });
    expect(verdictOf('exclusion')).toMatchObject({ valid: true, broken: [] });
  });

  it('is as good as its promise where there is one', async () => {
    const verdictOf = await pausedHolders('read-write');
    expect(verdictOf('lost-updates')).toMatchObject({ valid: true, broken: [] });
    expect(verdictOf('shared-reads')).toMatchObject({ valid: true, broken: [] });
  });
});
