import { describe, expect, it } from 'vitest';
import { CrowdWorld } from '../../support/crowd-world.ts';

const SESSIONS = 250;
const SESSION_TIMEOUT_MS = 10_000;

// What 2,000 sessions are to servers that take 2 ms for each: see test/e2e/crowd.test.ts.
describe('a crowd of sessions whose leader is killed', () => {
  it('is served again before any session expires, by servers that greet sixty a second', async () => {
    const crowd = await CrowdWorld.gather({
      seed: 1,
      sessions: SESSIONS,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      processes: 20,
      acceptMs: 16,
    });
    const served = await crowd.killLeader(60_000);
    expect(crowd.expired).toBe(0);
    expect(served).toHaveLength(SESSIONS);
    expect(served.at(-1)).toBeLessThan(SESSION_TIMEOUT_MS);
    expect(crowd.failures).toEqual([]);
  }, 60_000);
});
