import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformanceCases, runConformance } from '@holdfast/fence-conformance';
import { ALL_CELLS, BEHIND, GAP, READS, STALE, UNWRITTEN, expectBroken } from '@holdfast/fence-conformance/test/broken';
import { afterAll, describe, expect, it } from 'vitest';
import { STEPS } from '../../src/fence.ts';
import { brokenSteps } from '../support/broken.mjs';
import { cellsIn, type CellsOptions, type Put } from '../support/cells.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-sqlite-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
let files = 0;

function freshFile(): string {
  files += 1;
  return join(directory, `cells-${files}.db`);
}

interface Broken {
  readonly options: CellsOptions;
  /** Cases that must fail. */
  readonly red: readonly string[];
}

const putByRow: Put = (tx, scope, cell, value, { token }) => {
  const { changes } = tx
    .prepare(
      `INSERT INTO cells (scope, cell, value, token) VALUES (?, ?, ?, ?)
       ON CONFLICT (scope, cell) DO UPDATE SET value = excluded.value, token = excluded.token WHERE token <= excluded.token`,
    )
    .run(scope, cell, value, token);
  if (changes === 0) throw Object.assign(new Error('a newer holder wrote this row'), { code: 'STALE_TOKEN' });
};

const unchecked: CellsOptions = { steps: brokenSteps('unchecked'), broken: 'unchecked' };

const BROKEN: Readonly<Record<string, Broken>> = {
  // It has the lock for writing nevertheless.
  'looks at no token': { options: unchecked, red: [STALE, GAP, UNWRITTEN, READS] },
  'gives the lock for writing back behind its check': {
    options: { steps: brokenSteps('deferred'), broken: 'deferred' },
    red: [READS, BEHIND],
  },
  'installs with the first write only': {
    options: { steps: STEPS, install: async () => undefined },
    red: [GAP, UNWRITTEN],
  },
  'has a token in each row': {
    options: { ...unchecked, put: putByRow },
    red: [GAP, UNWRITTEN, ALL_CELLS],
  },
};

// Crashes are those of a process: see processes.test.ts.
const cases = conformanceCases.filter(({ needs }) => !needs.includes('crash'));

describe('the suite on SQLite', () => {
  it('passes the fence', async () => {
    const results = await runConformance(cellsIn(freshFile()), cases);
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  });

  it.each(Object.entries(BROKEN))('fails a fence that %s', async (name, { options, red }) => {
    await expectBroken(name, cellsIn(freshFile(), options), red);
  });
});
