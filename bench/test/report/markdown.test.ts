import { describe, expect, it } from 'vitest';

import { markdownReport } from '../../src/report/markdown.ts';
import { withVerdicts } from '../../src/report/verdicts.ts';
import type { SystemUnderTest } from '../../src/systems/system.ts';
import { ownRowOf, rowOf } from '../support/rows.ts';

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

  it('has a table of our own figures, with what each is compared with, beside none of a peer', () => {
    const rows = withVerdicts([
      ownRowOf('exclusive', [100]),
      ownRowOf('read', [110], { must: 1.15, goal: 1.05, baseline: 'exclusive' }),
      ownRowOf('election', [7], { must: 20, goal: 10 }, 'ms'),
    ]);
    const report = markdownReport({ rows, systems, failures: [], machine: 'a machine', command: 'bench' });
    expect(report).toContain('| exclusive, µs | 100 (100–100) | – | – | – | – | – |');
    expect(report).toContain('| read, µs | 110 (110–110) | exclusive | 1.10× | 1.15× | 1.05× | yes |');
    expect(report).toContain('| election, ms | 7.00 (7.00–7.00) | – | – | 20.0 ms | 10.0 ms | yes |');
    expect(report).not.toContain('through client libraries');
  });

  it('shows the better of two clients in the table of client libraries, and no control of it', () => {
    const rows = withVerdicts([
      rowOf('holdfast', [300], { route: 'client' }),
      rowOf('zookeeper', [50], { route: 'client' }),
      rowOf('zookeeper', [100], { route: 'native' }),
    ]);
    const report = markdownReport({ rows, systems, failures: [], machine: 'a machine', command: 'bench' });
    const line = '| a work, cycles/s | 300 (300–300) | 100 (100–100), its own client | 3.00× | 2.00× | 3.00× | yes |';
    expect(report).toContain(line);
    expect(report).not.toContain('Controls');
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
