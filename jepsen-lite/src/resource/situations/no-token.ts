/** Writes without a token, or with what is none. Whoever leaves the token out must not be let through for it. */

import type { Situation } from './situation.ts';

/** What a comparison or a parser may let through: NaN is not lower than anything. */
const TOKENS = [undefined, '', 'NaN', '-1', '1e99', 'token'] as const;

export const noToken: Situation = {
  name: 'no-token',
  promise: 'refuses writes without a token and with what is none',
  tries: 'newest',
  rounds: () => 1,
  unfit: ({ writesUnfenced }) => (writesUnfenced ? undefined : 'write(value, token) of a module always has a token'),
  async play(round, { cast: { a, c } }) {
    const token = await round.acquire(a);
    await round.begin(a, token);
    for (const text of TOKENS) {
      await round.writeUnfenced(a, text);
      await round.read(c);
      await round.write(a, token, 'newest');
    }
    await round.read(c);
    await round.release(a);
  },
};
