import { describe, expect, it } from 'vitest';
import { Forgetting } from '../../../../src/targets/live/processes/forgetting.ts';

/** The leader takes a snapshot at each look. */
function fakes({ takes = 1, leads = true, upAfter = Infinity } = {}) {
  const taken = new Map([['s2', 7]]);
  let looks = 0;
  const forgetting = new Forgetting({
    scraper: {
      leader: leads ? 2 : undefined,
      get snapshotsTaken() {
        return new Map(taken);
      },
    },
    isUp: () => looks >= upAfter,
    runUntil: async (condition, maxMs) => {
      for (let leftMs = maxMs; leftMs > 0; leftMs -= 1_000) {
        if (condition()) return true;
        looks += 1;
        taken.set('s2', (taken.get('s2') ?? 0) + takes);
        await Promise.resolve();
      }
      return false;
    },
  });
  return { forgetting, looks: () => looks };
}

describe('a server that was killed', () => {
  it('is behind when the leader has taken three snapshots since', async () => {
    const { forgetting, looks } = fakes();
    forgetting.killed('s1');
    await forgetting.forgotten('s1');
    expect(looks()).toBe(3);
  });

  it.each([
    ['nobody leads', { leads: false }],
    ['no snapshot is taken', { takes: 0 }],
  ])('is waited for no longer than half a minute when %s', async (_, how) => {
    const { forgetting, looks } = fakes(how);
    forgetting.killed('s1');
    await forgetting.forgotten('s1');
    expect(looks()).toBe(30);
  });

  it('is waited for no longer when it has been started', async () => {
    const { forgetting, looks } = fakes({ takes: 0, upAfter: 2 });
    forgetting.killed('s1');
    await forgetting.forgotten('s1');
    expect(looks()).toBe(2);
  });

  it('is not waited for when nobody has killed it', async () => {
    const { forgetting, looks } = fakes();
    await forgetting.forgotten('s1');
    expect(looks()).toBe(0);
  });
});
