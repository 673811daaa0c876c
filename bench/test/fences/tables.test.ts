import { describe, expect, it } from 'vitest';

import { FAIL_OVER_ROWS, pairRows, PAIR_PLANS, tripRows, tripTarget } from '../../src/fences/plans.ts';
import { markdownReport } from '../../src/report/markdown.ts';
import type { ResultRow } from '../../src/report/result-row.ts';
import { withVerdicts } from '../../src/report/verdicts.ts';
import { ownRowOf } from '../support/rows.ts';

const plan = PAIR_PLANS.find(({ share, trips }) => share?.must === 0.9 && trips === 'judged');
if (plan === undefined) throw new Error('there is a fence of which both are asked');
const rows = pairRows(plan, 64);
const trips = tripRows(plan);

function reportOf(found: readonly ResultRow[]): string {
  const about = { systems: [], failures: [], machine: 'a machine', command: 'bench fences' };
  return markdownReport({ rows: withVerdicts(found), ...about });
}

describe('the tables of fences', () => {
  it('have both figures in one line, with their ratio and the verdict, and no other table has them', () => {
    const report = reportOf([
      ownRowOf(rows.without, [1_000, 900, 1_100], undefined, 'writes/s'),
      ownRowOf(rows.through, [950, 940, 960], rows.target, 'writes/s'),
    ]);
    const figures = '1,000 (900–1,100) | 950 (940–960) | 0.950× | 0.900× | yes |';
    expect(report).toContain(`| ${plan.title} | 64 | through the fence / without the fence | ${figures}`);
    expect(report).not.toContain('Holdfast alone');
  });

  it('say what costs more than it may', () => {
    const report = reportOf([
      ownRowOf(rows.without, [1_000], undefined, 'writes/s'),
      ownRowOf(rows.through, [899], rows.target, 'writes/s'),
    ]);
    expect(report).toContain('| 0.899× | 0.900× | **no** |');
  });

  it('have a ratio where nothing is asked, too', () => {
    const report = reportOf([
      ownRowOf(rows.without, [1_000], undefined, 'writes/s'),
      ownRowOf(rows.through, [500], undefined, 'writes/s'),
    ]);
    expect(report).toContain('| 0.500× | – | – |');
  });

  it.each([
    [4, 'yes'],
    [5, '**no**'],
  ])('judge the round trips of a write by those without the fence: %i where there are three', (waited, verdict) => {
    const report = reportOf([
      ownRowOf(trips.without, [3], undefined, 'round trips'),
      ownRowOf(trips.through, [waited], tripTarget(3), 'round trips'),
      ownRowOf(trips.sent, [6], undefined, 'round trips'),
    ]);
    expect(report).toContain(`| ${plan.title} | 3 | ${waited} | 4 | ${verdict} | 6 |`);
  });

  it('judge a fail-over by its median, and by the worst', () => {
    const { each, worst, target } = FAIL_OVER_ROWS;
    const report = reportOf([
      ownRowOf(each, [1_100, 1_200, 1_600], target, 'ms'),
      ownRowOf(worst, [1_600], target, 'ms'),
    ]);
    expect(report).toContain('median | 1,200 (1,100–1,600) | below 1,500 | yes |');
    expect(report).toContain('worst | 1,600 (1,600–1,600) | below 1,500 | **no** |');
  });

  it('say why something was left out', () => {
    const leftOut = { ...ownRowOf(rows.through, [], rows.target, 'writes/s'), note: 'left out, since it is not there' };
    expect(reportOf([leftOut])).toContain('left out, since it is not there');
  });
});
