import { describe, expect, it } from 'vitest';
import { Ensemble } from '../snapshots/ensemble.ts';

const MIB = 1024 * 1024;
const SEGMENT_BYTES = 6 * MIB;
/** Of each operation: six pieces of a segment take more than twice the time after which a disk counts as hung. */
const SLOW_MS = 400;

describe('a leader whose next segment is filled slowly', () => {
  it('leads on while its writes wait for that: the disk does not hang', async () => {
    const ensemble = new Ensemble(1, { snapshotLogBytes: 64 * MIB }, { segmentBytes: SEGMENT_BYTES });
    await ensemble.start();
    const { leader } = ensemble;
    const { term } = leader.running.status;
    leader.host.disk.setLatency({ durable: { minMs: SLOW_MS, maxMs: SLOW_MS } });
    const propose = (bytes: number): void => leader.running.propose(new Uint8Array(bytes).fill(97));
    const writes = leader.running.logWrites;
    // More than the segment has room for behind the first write, and more than is prepared by then.
    propose(4 * MIB);
    await ensemble.until(() => leader.running.logWrites > writes);
    propose(4 * MIB);
    const begunMs = ensemble.world.nowMs;
    let stalled = false;
    await ensemble.until(() => {
      stalled ||= leader.running.diskStalls;
      return leader.running.logWrites > writes + 1;
    });
    expect(ensemble.world.nowMs - begunMs).toBeGreaterThan(2_000);
    expect(stalled).toBe(false);
    expect(leader.running.status).toMatchObject({ role: 'leader', term });
    ensemble.checkHealth();
  });

  it('leads no longer when the disk hangs in the midst of that', async () => {
    const ensemble = new Ensemble(2, { snapshotLogBytes: 64 * MIB }, { segmentBytes: SEGMENT_BYTES });
    await ensemble.start();
    const { leader } = ensemble;
    leader.host.disk.setLatency({ durable: { minMs: SLOW_MS, maxMs: SLOW_MS } });
    const writes = leader.running.logWrites;
    leader.running.propose(new Uint8Array(4 * MIB));
    await ensemble.until(() => leader.running.logWrites > writes);
    leader.running.propose(new Uint8Array(4 * MIB));
    await ensemble.world.run({ forMs: 500 });
    leader.host.disk.stall(60_000);
    await ensemble.until(() => leader.running.diskStalls, 3_000);
    expect(leader.running.status.role).toBe('follower');
  });
});
