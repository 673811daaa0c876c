/**
 * A's stale writes and B's first write at the same moment, over connections of their own. Who comes first does not matter; but once
 * B's write is acknowledged and A's have ended, no read may show A's. A fence that looks first and writes afterwards fails here.
 */

import { now } from '../holders/holder.ts';
import type { Situation } from './situation.ts';

/** Time for the processes to hear of it. */
const NOTICE_MS = 10;
/** Before any write was timed. */
const FIRST_SPREAD_MS = 2;
const MAX_SPREAD_MS = 50;

export const race: Situation = {
  name: 'race',
  promise: 'never shows an old holder’s value after a newer write was acknowledged, however close the two writes are',
  tries: 'racing',
  rounds: (asked) => asked,
  async play(round, { cast: { a, b, c }, random, writeMs }) {
    const old = await round.acquire(a);
    writeMs.push(duration(await round.write(a, old, 'newest')));
    await round.release(a);
    const token = await round.acquire(b);
    const spreadMs = Math.min(MAX_SPREAD_MS, median(writeMs) ?? FIRST_SPREAD_MS);
    const start = now() + NOTICE_MS + spreadMs;
    const near = (): number => start + (2 * random.next() - 1) * spreadMs;
    const [first, second] = [near(), near()];
    const [written] = await Promise.all([
      round.write(b, token, 'newest', { at: start }),
      round.write(a, old, 'racing', { at: first }),
      round.write(a, old, 'racing', { route: 'second', at: second }),
    ]);
    writeMs.push(duration(written));
    await round.read(c);
    await round.release(b);
  },
};

function duration({ calledAt, endedAt }: { readonly calledAt: number; readonly endedAt: number }): number {
  return endedAt - calledAt;
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((x, y) => x - y)[values.length >> 1];
}
