import { describe, expect, it } from 'vitest';

import { CROWD_ATTACHES } from '../../src/limits.ts';
import { ReturningCrowd } from '../../src/sessions/returning-crowd.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** After so many attaches at once, and as many again after each pause. */
function crowdAfter(attaches: number, ...pausesMs: readonly number[]): { crowd: ReturningCrowd; clock: ManualClock } {
  const clock = new ManualClock();
  const crowd = new ReturningCrowd(clock);
  for (const pauseMs of [0, ...pausesMs]) {
    clock.stall(pauseMs);
    for (let count = 0; count < attaches; count += 1) crowd.attached();
  }
  return { crowd, clock };
}

describe('a returning crowd', () => {
  it('is present from so many attaches within a second on, and no sooner', () => {
    expect(crowdAfter(0).crowd.present).toBe(false);
    expect(crowdAfter(CROWD_ATTACHES - 1).crowd.present).toBe(false);
    expect(crowdAfter(CROWD_ATTACHES).crowd.present).toBe(true);
    expect(crowdAfter(CROWD_ATTACHES / 2, 999).crowd.present).toBe(true);
  });

  it('is none when as many come in more than a second', () => {
    expect(crowdAfter(CROWD_ATTACHES / 2, 1_000).crowd.present).toBe(false);
    expect(crowdAfter(CROWD_ATTACHES - 1, 1_000, 1_000).crowd.present).toBe(false);
  });

  it('is gone a second after the last of so many', () => {
    const { crowd, clock } = crowdAfter(CROWD_ATTACHES, 1_000);
    clock.stall(999);
    expect(crowd.present).toBe(true);
    clock.stall(1);
    expect(crowd.present).toBe(false);
  });
});
