/** What an entry touches is in the digest: states that have come apart are told from each other by the first entry that touches where. */

import { describe, expect, it } from 'vitest';

import { Solo, type SoloSession } from './support/solo.ts';
import { bytesOf, restore } from './support/snapshots.ts';

/** Where the digest is in a snapshot. */
const DIGEST = { from: 32, to: 40 };

interface Ensemble {
  readonly solo: Solo;
  readonly one: SoloSession;
  readonly two: SoloSession;
}

type Run = (ensemble: Ensemble) => unknown;

const noop: Run = ({ solo }) => solo.noop();
const inOrder =
  (...runs: readonly Run[]): Run =>
  (ensemble) =>
    runs.map((run) => run(ensemble));
const make =
  (path: string): Run =>
  ({ one }) =>
    one.made(path);
const openThird: Run = ({ solo }) => solo.open('three');
const attachThird: Run = ({ solo }) => solo.attach({ secret: new Uint8Array(32).with(3, 3) });
const wait: Run = ({ one }) => one.acquire('lock');
const hold: Run = ({ two }) => two.acquire('lock');

/** What is not the same, two histories of as many entries that make it so, and an entry that both then have. */
const DIFFERENCES: readonly (readonly [string, Run, Run, Run])[] = [
  ['the session that is attached', inOrder(openThird, noop), inOrder(noop, openThird), attachThird],
  ['the generation of a session', inOrder(openThird, attachThird), inOrder(openThird, noop), attachThird],
  ['whether a session expires', ({ one }) => one.attachAgain(), noop, ({ solo, one }) => solo.expire(one.id, 1)],
  ['the node that is set', inOrder(make('/a'), noop), inOrder(noop, make('/a')), ({ two }) => two.set('/a', '')],
  [
    'the version of data',
    inOrder(make('/a'), ({ one }) => one.set('/a', '')),
    inOrder(make('/a'), noop),
    ({ two }) => two.set('/a', ''),
  ],
  ['the node that goes', inOrder(make('/a'), noop), inOrder(noop, make('/a')), ({ two }) => two.delete('/a')],
  [
    'the parent of a node that comes',
    inOrder(make('/a'), noop),
    inOrder(noop, make('/a')),
    ({ two }) => two.made('/a/b'),
  ],
  [
    'the parent of a node that goes',
    inOrder(make('/a'), noop, make('/a/b')),
    inOrder(noop, make('/a'), make('/a/b')),
    ({ two }) => two.delete('/a/b'),
  ],
  [
    'the acquire that is granted',
    inOrder(hold, wait, noop),
    inOrder(hold, noop, wait),
    ({ two }) => two.release({ lock: 'lock', acquireIndex: 3, token: 3 }),
  ],
];

function ensembleAfter(history: Run): Ensemble {
  const solo = new Solo();
  const ensemble = { solo, one: solo.open('one'), two: solo.open('two') };
  history(ensemble);
  return ensemble;
}

/** The state of one with the digest of another. */
function withDigestOf(other: Ensemble, { solo, one, two }: Ensemble): Ensemble {
  const bytes = bytesOf(solo.machine);
  bytes.set(bytesOf(other.solo.machine).subarray(DIGEST.from, DIGEST.to), DIGEST.from);
  const copy = new Solo();
  restore(bytes, solo.index, copy.machine);
  return { solo: copy, one: one.in(copy), two: two.in(copy) };
}

describe('the digest differs behind an entry when', () => {
  it.each(DIFFERENCES)('%s is not the same', (_, left, right, entry) => {
    const there = ensembleAfter(right);
    const here = withDigestOf(there, ensembleAfter(left));
    expect([here.solo.index, here.solo.machine.digest]).toEqual([there.solo.index, there.solo.machine.digest]);
    entry(here);
    entry(there);
    expect(here.solo.index).toBe(there.solo.index);
    expect(here.solo.machine.digest).not.toBe(there.solo.machine.digest);
  });

  it('and only then: the same entry on the same state makes the same digest', () => {
    const [here, there] = [ensembleAfter(make('/a')), ensembleAfter(make('/a'))];
    const copy = withDigestOf(there, here);
    for (const { two } of [copy, there]) two.set('/a', 'data');
    expect(copy.solo.machine.digest).toBe(there.solo.machine.digest);
  });
});
