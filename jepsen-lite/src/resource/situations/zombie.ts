/** A has lost the lock and does not know it: it writes on and on while B writes, over its old connection and over new ones. */

import type { Round } from '../rounds/round.ts';
import type { Scene, Situation } from './situation.ts';

const MAX_WRITES = 20;

export const zombie: Situation = {
  name: 'zombie',
  promise: 'refuses all that an old holder writes after the first contact of a newer one, over old and new connections',
  tries: 'stale',
  rounds: (asked) => Math.min(asked, 2),
  async play(round, scene) {
    const { a, b, c } = scene.cast;
    const old = await round.acquire(a);
    await round.begin(a, old);
    await round.release(a);
    const token = await round.acquire(b);
    await round.begin(b, token);
    await writeAtOnce(round, scene, old, token);
    // B is quiet now: what A writes would stay.
    await round.write(a, old, 'stale');
    await round.read(c);
    await round.write(a, old, 'stale', { route: 'new' });
    await round.read(c);
    await round.release(b);
  },
};

async function writeAtOnce(
  round: Round,
  { cast: { a, b, c }, rounds }: Scene,
  old: number,
  token: number,
): Promise<void> {
  const writes = Math.min(rounds, MAX_WRITES);
  let over = false;
  const both = Promise.all([
    repeat(writes, async (count) => await round.write(a, old, 'stale', { route: count % 2 === 0 ? 'own' : 'new' })),
    repeat(writes, async () => await round.write(b, token, 'newest')),
  ]).finally(() => (over = true));
  const watch = async (): Promise<void> => {
    while (!over) await round.read(c);
  };
  await Promise.all([both, watch()]);
}

async function repeat(times: number, act: (count: number) => Promise<unknown>): Promise<void> {
  for (let count = 0; count < times; count += 1) await act(count);
}
