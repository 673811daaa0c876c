import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformanceCases, runConformance } from '@holdfast/fence-conformance';
import { RULES, type Rules } from '@holdfast/fence-manifest';
import { afterAll, describe, expect, it } from 'vitest';
import { cellsIn } from '../support/cells.ts';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-files-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const STALE = 'a stale write is refused and changes nothing';
const READS = 'a new holder reads nothing that is about to be overwritten';
const BEHIND = 'a write that was checked in time does not come behind a newer one';
const GAP = 'no older write gets in between an install and the first write';
const UNWRITTEN = 'an install fences a scope that nobody has written';

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

/** What a fence without a check still does. */
const STILL = [
  'a holder reads what it wrote, and writes as often as it likes',
  'a malformed token is refused and installs nothing',
];

describe('the suite on files', () => {
  it('passes the fence', async () => {
    const results = await runConformance(cellsIn(directory), cases);
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  });

  it.each(Object.entries(BROKEN))('fails a fence that %s', async (name, { rules, red }) => {
    const tried = cases.filter((each) => red.includes(each.name) || STILL.includes(each.name));
    const results = await runConformance(cellsIn(directory, rules), tried);
    const failed = results.filter(({ outcome }) => outcome === 'failed').map((each) => each.name);
    // Broken where it says so, and not altogether.
    expect(failed.toSorted(), name).toEqual(red.toSorted());
  });
});
