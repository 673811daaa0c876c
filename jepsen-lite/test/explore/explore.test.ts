import { describe, expect, it } from 'vitest';

import { BOUNDS, boundsOf, COUNTED } from '../../src/explore/bounds.ts';
import { Counters } from '../../src/explore/counters.ts';
import { explore } from '../../src/explore/explore.ts';
import { openCore } from '../../src/explore/server/opened-core.ts';
import { PLANTED, mutantOf, plantedPairs } from '../../src/explore/planted.ts';
import { renderExplorations } from '../../src/explore/report.ts';

describe('an exploration of the product', () => {
  it.each(['elections', 'removals-of-two', 'additions', 'transfers'])('finds nothing wrong within %s', async (name) => {
    const { complete, broken, states } = await explore(boundsOf(name), { states: Infinity });
    expect({ complete, broken }).toEqual({ complete: true, broken: undefined });
    expect(states).toBeGreaterThan(300);
  });
});

describe('an exploration of a planted bug', () => {
  it('prints the shortest way to the broken promise, in which the servers keep their names', async () => {
    const { broken, depth } = await explore(boundsOf('removals-of-two'), {
      states: 10_000,
      mutant: mutantOf('new-voters-alone-decide'),
    });
    expect(depth).toBe(6);
    expect(broken).toMatchObject({ law: 'committed-is-durable-on-a-majority' });
    expect(broken?.transcript.split('\n')).toEqual([
      '  1. server 1 stands: its election timeout is over',
      '       sends vote of term 1 with a log up to 0·0 to 2',
      '       now candidate in term 1, vote for 1, log [], commit 0',
      '  2. server 2 hears vote of term 1 with a log up to 0·0 from 1',
      '       sends vote-response of term 1: yes to 1',
      '       now follower in term 1, vote for 1, log [], commit 0',
      '  3. server 1 hears vote-response of term 1: yes from 2',
      '       sends append of term 1 behind 0·0: [1·1], commit 0 to 2',
      '       now leader in term 1, vote for 1, log [1·1], commit 0',
      '  4. server 2 hears append of term 1 behind 0·0: [1·1], commit 0 from 1',
      '       sends acknowledgement of term 1 up to 1 to 1',
      '       now follower in term 1, vote for 1, log [1·1], commit 0',
      '  5. server 1 hears acknowledgement of term 1 up to 1 from 2',
      '       now leader in term 1, vote for 1, log [1·1], commit 1',
      '  6. server 1 is asked to remove server 2',
      '       sends append of term 1 behind 1·1: [2·1{1 outgoing, 2 leaving outgoing}], commit 1 to 2; commit 1 of term 1 to 2',
      '       BROKEN committed-is-durable-on-a-majority: server 1 commits 2, which is not on the disks of a majority of every set of voters',
    ]);
  });

  it.each([
    ['read-without-a-quorum-round', 'reads', 'no-stale-read', 12],
    ['no-log-comparison-in-elections', 'elections', 'leader-completeness', 8],
    ['commit-by-one-too-few', 'elections', 'state-machine-safety', 6],
    ['acknowledgement-before-durable-write', 'crashes', 'committed-is-durable-on-a-majority', 8],
    ['vote-ban-ignored', 'damages', 'leader-completeness', 9],
    ['vote-sent-before-durable', 'crashes', 'leaders-are-elected-by-majorities', 4],
  ])('finds %s within %s as %s, %i steps from the beginning', async (name, bounds, law, depth) => {
    const found = await explore(boundsOf(bounds), { states: 50_000, mutant: mutantOf(name) });
    expect(found).toMatchObject({ complete: false, depth, broken: { law } });
    expect(found.broken?.transcript).toContain(`BROKEN ${law}: ${found.broken?.message}`);
    expect(found.broken?.transcript.match(/^ *\d+\. /gm)).toHaveLength(depth);
  });
});

describe('what is planted', () => {
  it.each(PLANTED.map(({ mutant }) => mutant))('fits the core as it is built: %s', async (name) => {
    await expect(openCore(mutantOf(name))).resolves.toHaveProperty('RaftCore');
  });

  it('names bugs and bounds that there are', () => {
    expect(plantedPairs(PLANTED)).toHaveLength(PLANTED.length);
    expect(() => mutantOf('nothing')).toThrow('there is no planted bug "nothing"');
    expect(() => boundsOf('nothing')).toThrow('there are no bounds "nothing"');
  });
});

describe('bounds', () => {
  it('have names of their own, and count no more than fits in a number', () => {
    expect(new Set(BOUNDS.map(({ name }) => name)).size).toBe(BOUNDS.length);
    for (const { most } of BOUNDS) expect(() => new Counters(most)).not.toThrow();
    expect(() => new Counters(Object.fromEntries(COUNTED.map((counted) => [counted, 9])))).toThrow('too wide');
  });

  it('count what has happened each for itself', () => {
    const counters = new Counters({ stands: 2, reads: 1, snapshots: 3 });
    const used = 2 * counters.weight('stands') + counters.weight('reads') + counters.weight('snapshots');
    expect(COUNTED.filter((counted) => counters.left(used, counted) > 0)).toEqual(['snapshots']);
    expect(counters.count(used, 'stands')).toBe(2);
    expect(counters.left(used, 'snapshots')).toBe(2);
    expect(counters.left(0, 'crashes')).toBe(0);
  });
});

describe('the report', () => {
  it('has a line for each exploration, and a column for bugs only where some are planted', async () => {
    const product = await explore(boundsOf('removals-of-two'), { states: 20 });
    const mutant = mutantOf('quorum-off-by-one');
    const planted = await explore(boundsOf('elections'), { states: 20, mutant });
    expect(renderExplorations([product])).toMatch(/^bounds +result +worlds .*\nremovals-of-two +cut off +2\d /);
    expect(renderExplorations([product, planted])).toMatch(
      /\nelections +quorum-off-by-one +leaders-are-elected-by-majorities /,
    );
  });
});
