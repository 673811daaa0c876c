/** The token names the holder, not the connection: another process to which the holder gave its token writes as the same holder. */

import type { Situation } from './situation.ts';

export const equalTokens: Situation = {
  name: 'equal-tokens',
  promise: 'takes equal tokens as one holder, whichever process and connection they come from',
  tries: 'newest',
  rounds: (asked) => Math.min(asked, 2),
  async play(round, { cast: { a, b, c } }) {
    const token = await round.acquire(a);
    await round.begin(a, token);
    await round.write(b, token, 'newest');
    await round.read(c);
    await round.write(c, token, 'newest', { route: 'new' });
    await round.write(a, token, 'newest');
    await round.read(c);
    await round.release(a);
  },
};
