import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformanceCases, runConformance } from '@holdfast/fence-conformance';
import { BEHIND, GAP, READS, STALE, UNWRITTEN, expectBroken } from '@holdfast/fence-conformance/test/broken';
import { RULES, type Rules } from '@holdfast/fence-manifest';
import { afterAll, describe, expect, it } from 'vitest';
import { cellsIn } from '../support/cells.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-files-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const BROKEN: Readonly<Record<string, { readonly rules: Rules; readonly red: readonly string[] }>> = {
  'never looks at the token': { rules: { ...RULES, refuses: () => false }, red: [STALE, GAP, UNWRITTEN] },
  'looks first, and publishes over whatever is there then': {
    rules: { ...RULES, condition: (store, scope) => store.load(scope) },
    red: [READS, BEHIND],
  },
  'installs nothing before the first write': { rules: { ...RULES, installs: () => 0 }, red: [GAP, UNWRITTEN] },
};

// Restarts and crashes are those of a process: see processes.test.ts.
const cases = conformanceCases.filter(({ needs }) => !needs.includes('crash') && !needs.includes('restart'));

describe('the suite on files', () => {
  it('passes the fence', async () => {
    const results = await runConformance(cellsIn(directory), cases);
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  });

  it.each(Object.entries(BROKEN))('fails a fence that %s', async (name, { rules, red }) => {
    await expectBroken(name, cellsIn(directory, rules), red);
  });
});
