/** For the tests of fences: that the suite is red for a fence that somebody has broken, where it is broken, and green where it is not. */

import { expect } from 'vitest';
import { conformanceCases, runConformance, type FencedResource } from '../../src/index.ts';

// What fences are broken in; a name that no case has any more is found by `expectBroken`.
export const STALE = 'a stale write is refused and changes nothing';
export const READS = 'a new holder reads nothing that is about to be overwritten';
export const BEHIND = 'a write that was checked in time does not come behind a newer one';
export const GAP = 'no older write gets in between an install and the first write';
export const UNWRITTEN = 'an install fences a scope that nobody has written';
export const ALL_CELLS = 'a token fences all cells of its scope, written or not';

/** What a fence without a check still does. */
const STILL: readonly string[] = [
  'a holder reads what it wrote, and writes as often as it likes',
  'an install can be repeated',
];

/** Of a case that must fail: on a busy machine a writer that is to come late may come in time. */
const MAX_TRIES = 10;

/**
 * Runs the cases that must fail, and two that a fence keeps without a check: all others would only tell the same again, and wait for what
 * does not come.
 *
 * @param red names of cases, all of which must fail
 */
export async function expectBroken(
  name: string,
  open: () => Promise<FencedResource>,
  red: readonly string[],
): Promise<void> {
  const failed: string[] = [];
  for (const each of [...red, ...STILL]) {
    const tried = conformanceCases.filter((one) => one.name === each);
    expect(tried, `cases of the name ${each}`).toHaveLength(1);
    for (let tries = red.includes(each) ? MAX_TRIES : 1; tries > 0; tries -= 1) {
      const [result] = await runConformance(open, tried);
      if (result?.outcome !== 'failed') continue;
      failed.push(each);
      break;
    }
  }
  // Broken where it says so, and not altogether.
  expect(failed, name).toEqual(red);
}
