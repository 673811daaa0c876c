import { describe, expect, it } from 'vitest';

import { markdownReport } from '../../src/report/markdown.ts';
import { withVerdicts } from '../../src/report/verdicts.ts';
import type { SystemUnderTest } from '../../src/systems/system.ts';
import { rowOf } from '../support/rows.ts';

const systems = (['holdfast', 'zookeeper'] as const).map((name): SystemUnderTest => ({
  name,
  version: '1',
  settings: 'defaults',
  start: () => Promise.reject(new Error('not here')),
}));

describe('the Markdown report', () => {
  it('has a line a work with medians, ranges, ratio and verdict, and marks what a control replaced', () => {
    const rows = withVerdicts([
      rowOf('holdfast', [300, 250, 350]),
      rowOf('zookeeper', [50]),
      rowOf('zookeeper', [100], { route: 'native' }),
    ]);
    const report = markdownReport({
      rows,
      systems,
      failures: [],
      machine: 'a machine',
      command: 'bench',
    });
    expect(report).toContain(
      '| a work, cycles/s | 300 (250–350) | 100 (100–100), its own client | 3.00× | 2.00× | 3.00× | yes | 10/10 |',
    );
    expect(report).not.toContain('Not measured');
    expect(report).toContain('| a work | zookeeper | 50.0 (50.0–50.0) | 100 (100–100) | 0.500 | 10 % | native |');
  });

  it('says why a work has no figure, which work failed, and that disturbed windows are not for the record', () => {
    const [window] = rowOf('zookeeper', [1]).windows;
    const rows = [
      { ...rowOf('holdfast', []), note: 'cannot be measured yet' },
      { ...rowOf('zookeeper', [1]), windows: window === undefined ? [] : [{ ...window, disturbed: true }] },
    ];
    const report = markdownReport({
      rows,
      systems,
      failures: ['restart: no space'],
      machine: 'a machine',
      command: 'bench',
    });
    expect(report).toContain('- a work, holdfast: cannot be measured yet.');
    expect(report).toContain('- Not measured to its end: restart: no space.');
    expect(report).toContain('In 1 of 1 windows');
  });
});
