/** Takes locks for a moment, and asks linearizably who holds them: what is answered must be what grants and releases explain. */

import { lockName } from '../../plan/plan.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { giveBack, takeLock } from './hold.ts';

const MAX_HOLD_MS = 150;
const MAX_WAIT_MS = 1_000;
/** Questions of a worker in a row. */
const MAX_QUESTIONS = 3;

export const lockStatus: Workload = {
  name: 'lock-status',
  checks: ['grants', 'owners', 'tokens', 'releases', 'ghosts', 'linearizable-locks'],
  oneIn: 24,
  takesLocks: true,
  hasRounds: true,
  demands: () => ({ 'linearizable-locks': { statuses: 10, heldStatuses: 1 } }),
  async step(session) {
    const { random, round, sleep, world } = session;
    const lock = lockName(random.integer(world.locks));
    if (random.integer(2) === 0) {
      for (let left = 1 + random.integer(MAX_QUESTIONS); left > 0; left -= 1) await askForHolder(session, lock);
      return;
    }
    const held = await takeLock(
      session,
      lock,
      random.integer(3) === 0 ? { waitMs: 1 + random.integer(MAX_WAIT_MS) } : {},
    );
    if (held === undefined) return;
    await sleep(random.integer(MAX_HOLD_MS));
    if (random.integer(2) === 0) await askForHolder(session, lock);
    await giveBack(session, lock, held);
    await askForHolder(session, lock);
    round();
  },
};

async function askForHolder({ calls, client }: ClientSession, lock: string): Promise<void> {
  await calls.make({ f: 'status', lock, session: client.sessionId }, async () => {
    const { holders } = await client.admin.lock(lock);
    const [holder] = holders;
    return holder === undefined ? { holder: null, token: 0 } : { holder: holder.session, token: holder.token };
  });
}
