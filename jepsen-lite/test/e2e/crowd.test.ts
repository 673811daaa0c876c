import { describe, expect, it } from 'vitest';
import { CrowdWorld } from '../support/crowd-world.ts';

const SESSIONS = 2_000;
const SESSION_TIMEOUT_MS = 10_000;

describe('2,000 simulated sessions whose leader is killed', () => {
  it('are all served again before any expires, by servers that greet some hundreds a second', async () => {
    const crowd = await CrowdWorld.gather({
      seed: 1,
      sessions: SESSIONS,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      processes: 40,
      acceptMs: 2,
    });
    const termBefore = crowd.term;
    expect(crowd.boundAt(crowd.leader)).toBeGreaterThan(SESSIONS / 2);
    const served = await crowd.killLeader(60_000);
    expect(crowd.expired).toBe(0);
    expect(served).toHaveLength(SESSIONS);
    expect(served.at(-1)).toBeLessThan(SESSION_TIMEOUT_MS);
    expect(crowd.term - termBefore).toBeLessThanOrEqual(2);
    expect(crowd.failures).toEqual([]);
  });
});
