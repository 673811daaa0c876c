/** A holds the lock and is stopped until its session has expired; B has written when A wakes and goes on where it was. */

import type { Situation } from './situation.ts';

export const pausedHolder: Situation = {
  name: 'paused-holder',
  promise: 'refuses what a holder writes that was stopped, lost its session and wakes',
  tries: 'stale',
  // Each takes a session timeout.
  rounds: (asked) => Math.min(asked, 2),
  async play(round, { cast: { a, b, c } }) {
    const old = await round.acquire(a);
    await round.begin(a, old);
    round.pause(a);
    try {
      await round.begin(b, await round.acquire(b));
      // It waits in the channel: the first thing that A does when it wakes.
      const late = round.write(a, old, 'stale');
      round.wake(a);
      await late;
    } finally {
      a.resume();
    }
    await round.read(c);
    await round.release(b);
  },
};
