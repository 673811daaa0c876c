import { randomStream } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { churn } from '../../../src/mutants/detectors/churn.ts';
import { walk } from '../../../src/mutants/detectors/churn/walk.ts';

describe('walks of bare cores', () => {
  it('find nothing wrong with the product', async () => {
    for (let seed = 1; seed <= 20; seed += 1) expect((await churn(seed)).failure).toBeUndefined();
  });

  it.each([3, 5])(
    'of %i servers are full of leaderships, and commit entries and answer reads between them',
    (servers) => {
      const totals = { committed: 0, leaderships: 0, readsAnswered: 0 };
      const walks = 40;
      for (let seed = 1; seed <= walks; seed += 1) {
        const { laws } = walk(randomStream(seed, 'walk'), servers, 150);
        totals.committed += laws.committed;
        totals.leaderships += laws.leaderships;
        totals.readsAnswered += laws.readsAnswered;
      }
      expect(totals.leaderships).toBeGreaterThan(8 * walks);
      expect(totals.committed).toBeGreaterThan(3 * walks);
      expect(totals.readsAnswered).toBeGreaterThan(walks / 4);
    },
  );

  it('transfer leadership, when asked to, to servers that are then known as successors', () => {
    const walks = 30;
    let successors = 0;
    for (let seed = 1; seed <= walks; seed += 1)
      successors += walk(randomStream(seed, 'walk'), 5, 150, { transfers: true }).laws.successors;
    expect(successors).toBeGreaterThan(walks / 10);
  });

  it('install snapshots in the place of logs that lead up to them, and of logs that conflict with them', () => {
    const walks = 250;
    let [installed, conflicts] = [0, 0];
    for (let seed = 1; seed <= walks; seed += 1) {
      const result = walk(randomStream(seed, 'walk'), 3, 150, { snapshots: true });
      installed += result.laws.snapshotsInstalled;
      conflicts += result.conflictingSnapshots;
    }
    expect(installed).toBeGreaterThan(walks);
    // Rare: what a new leader asks of a follower first is nearly always answered by its log.
    expect(conflicts).toBeGreaterThan(1);
  });

  it('have leaders ask followers anew, far behind their ends, whose logs go on with entries of deposed leaders', () => {
    const walks = 100;
    let short = 0;
    for (let seed = 1; seed <= walks; seed += 1) short += walk(randomStream(seed, 'walk'), 3, 150).shortAppends;
    expect(short).toBeGreaterThan(walks / 20);
  });

  it('are the same for the same seed', () => {
    const summary = () => {
      const { laws, simulatedMs } = walk(randomStream(7, 'walk'), 3, 150);
      return [laws.committed, laws.leaderships, simulatedMs];
    };
    expect(summary()).toEqual(summary());
  });
});
