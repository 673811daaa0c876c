/**
 * The control: a counter under a lock, in a bucket without a fence, whose holders trust the lock alone. A holder that is paused between
 * its read and its write until its session has expired must lose somebody an update: where that is never seen, the harness is blind.
 */

import { UNFENCED_BUCKET } from '../../history/history.ts';
import { lockName } from '../../plan/plan.ts';
import { useStore } from '../use-store.ts';
import type { Workload } from '../workload.ts';
import { giveBack, takeLock } from './hold.ts';

/** Between the read and the write: most of the time that the lock is held. */
const MIN_WORK_MS = 30;
const MAX_WORK_MS = 250;
/** So many pauses of holders must do it; one alone may meet a holder that has just written. */
const ENOUGH_PAUSES = 3;

export const unfencedControl: Workload = {
  name: 'unfenced-control',
  checks: ['grants', 'owners', 'tokens', 'order', 'releases', 'unfenced'],
  oneIn: 24,
  takesLocks: true,
  usesStore: true,
  alone: true,
  hasRounds: true,
  demands: ({ longPausesOfHolders }) => (longPausesOfHolders >= ENOUGH_PAUSES ? { unfenced: { lostUpdates: 1 } } : {}),
  async step(session) {
    const { random, round, sleep, world } = session;
    const lock = lockName(random.integer(world.locks));
    const held = await takeLock(session, lock);
    if (held === undefined) return;
    const { token } = held;
    // Other workloads write under the lock's own name.
    const at = { bucket: UNFENCED_BUCKET, key: `control-${lock}` };
    let before: string | null = null;
    if (await useStore(session, { f: 'get', ...at, token }, (value) => (before = value))) {
      const count = before === null ? 0 : Number((before as string).split(':')[1]);
      await sleep(MIN_WORK_MS + random.integer(MAX_WORK_MS - MIN_WORK_MS));
      await useStore(session, { f: 'put', ...at, value: `${token}:${count + 1}`, token });
    }
    await giveBack(session, lock, held);
    round();
  },
};
