/** The holder of the newest token writes several times. A resource that refuses everything is not safe, it is useless. */

import type { Situation } from './situation.ts';

const WRITES = 5;

export const ownRepeats: Situation = {
  name: 'own-repeats',
  promise: 'takes every write of the newest holder, not only the first',
  tries: 'newest',
  rounds: (asked) => Math.min(asked, 2),
  async play(round, { cast: { a, c } }) {
    const token = await round.acquire(a);
    await round.install(a, token);
    for (let count = 0; count < WRITES; count += 1) {
      await round.write(a, token, 'newest');
      await round.read(c);
    }
    await round.release(a);
  },
};
