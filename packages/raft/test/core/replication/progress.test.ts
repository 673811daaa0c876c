import { describe, expect, it } from 'vitest';
import { logIndex } from '../../../src/core/index.ts';
import { Progress } from '../../../src/core/replication/progress.ts';

describe('the progress of a follower', () => {
  it('goes on behind what it has once a probe is answered, wherever the probe was', () => {
    const progress = new Progress(logIndex(10), { connected: true, aliveMs: 1_000 });
    progress.probeFrom(logIndex(10));
    expect([progress.mode, progress.next]).toEqual(['probe', 10]);
    expect(progress.acknowledged(logIndex(5))).toBe(true);
    expect([progress.mode, progress.match, progress.next]).toEqual(['replicate', 5, 6]);
    expect(progress.acknowledged(logIndex(4))).toBe(false);
    expect([progress.match, progress.next]).toEqual([5, 6]);
  });
});
