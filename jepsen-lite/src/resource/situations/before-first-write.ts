/**
 * The window that a fence has: B was granted the lock and has not come to the resource, which therefore takes what A writes. It closes
 * with B's first contact. Where tokens can be installed, that comes before B reads, and nothing B has read can change under it.
 */

import type { Situation } from './situation.ts';

export const beforeFirstWrite: Situation = {
  name: 'before-first-write',
  promise: 'may take an old holder’s write until a newer one comes, and refuses it from that first contact on',
  tries: 'stale',
  rounds: (asked) => Math.min(asked, 5),
  async play(round, { cast: { a, b, c, installs } }) {
    const old = await round.acquire(a);
    await round.begin(a, old);
    await round.release(a);
    const token = await round.acquire(b);
    await round.write(a, old, 'before-contact');
    if (installs) {
      await round.install(b, token);
      await round.write(a, old, 'stale');
      await round.read(b);
    }
    await round.write(b, token, 'newest');
    await round.write(a, old, 'stale');
    await round.read(c);
    await round.release(b);
  },
};
