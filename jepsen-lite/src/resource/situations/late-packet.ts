/**
 * A sends a write while it holds the lock, and the network delivers it only after A has released the lock and B has written. Where
 * there is no network to hold it back on, A's process makes the write late.
 */

import type { Situation } from './situation.ts';

export const latePacket: Situation = {
  name: 'late-packet',
  promise: 'refuses a write that was sent in time and comes after a newer holder has written',
  tries: 'stale',
  rounds: (asked) => Math.min(asked, 5),
  async play(round, { cast: { a, b, c, link }, callTimeoutMs }) {
    const old = await round.acquire(a);
    await round.begin(a, old);
    // So that the connection stands.
    await round.read(a, { route: link === undefined ? 'second' : 'held back' });
    const deliver = link === undefined ? undefined : await round.writeLate(a, link, old, callTimeoutMs);
    try {
      await round.release(a);
      await round.begin(b, await round.acquire(b));
    } finally {
      await deliver?.();
    }
    if (deliver === undefined) await round.write(a, old, 'stale', { route: 'second' });
    await round.read(c);
    await round.release(b);
  },
};
