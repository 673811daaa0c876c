import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ResultRow } from '../../src/report/result-row.ts';
import { Results } from '../../src/report/results.ts';
import { rowOf } from '../support/rows.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-results-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

function written(file: string): ResultRow[] {
  return JSON.parse(readFileSync(file, 'utf8')) as ResultRow[];
}

describe('the results of a run', () => {
  it('are in the file after each figure, with the verdicts as they stand', () => {
    const file = join(directory, 'results.json');
    const results = new Results(file);
    results.put(rowOf('holdfast', [6]));
    expect(written(file)).toMatchObject([{ system: 'holdfast', median: 6, met: null }]);
    results.put(rowOf('etcd', [2]));
    expect(written(file)).toMatchObject([
      { system: 'holdfast', ratio: 3, met: true },
      { system: 'etcd', median: 2 },
    ]);
    expect(existsSync(`${file}.tmp`)).toBe(false);
  });

  it('have one figure a work, system and route: the one with the most windows, which comes last', () => {
    const results = new Results(undefined);
    results.put(rowOf('etcd', [1]));
    results.put(rowOf('etcd', [9], { route: 'native' }));
    results.put(rowOf('etcd', [1, 5, 6]));
    expect(results.rows).toMatchObject([
      { route: 'raw', median: 5 },
      { route: 'native', median: 9 },
    ]);
    expect(results).toHaveLength(2);
  });
});
