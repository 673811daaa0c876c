/** A server whose wall clock jumps: who renews keeps its session, and who died loses it, both by the monotonic clock. */

import { join } from 'node:path';
import type { Client } from '@holdfast/client';

import type { Failure } from '../../attempt.ts';
import { FakeClock } from '../../../targets/live/clocks/fake-clock.ts';
import type { LiveDetector } from '../live-mutant.ts';
import { Program } from '../program.ts';
import { CLUSTER_ID, connectTo, startLockd, within } from './lockd-program.ts';

const DAY_MS = 86_400_000;
const SESSION_MS = 4_000;
/** For the expiry of a session, on a busy machine. */
const EXPIRY_LIMIT_MS = 12_000;
/** To be in the queue. */
const WAITS_LIMIT_MS = 3_000;
/** How long a live session is watched. */
const LOSS_LIMIT_MS = 1_500;

export const wrongClocks: LiveDetector = async ({ planted, directory }) => {
  const clock = new FakeClock({ directory, name: 'server', clocks: 'wall' });
  const server = await startLockd(planted, join(directory, 'data'), clock.environment());
  const clients: Client[] = [];
  const broken = (message: string): Failure => ({ kind: 'promise', name: 'wrong-clocks', message });
  const holder = new Program(
    planted,
    ['@holdfast/jepsen-lite', 'mutants/live/programs/holder-program.js'],
    [server.address, CLUSTER_ID, `${SESSION_MS}`, 'dead'],
  );
  try {
    await clock.started(server.program.pid);
    const client = await connectTo(server.address, 10 * SESSION_MS);
    clients.push(client);
    const held = await client.lock('kept').acquire();
    await holder.says('held');
    await holder.kill();
    // It waits already: nothing that happens afterwards arms a timer anew.
    const waiting = client
      .lock('dead')
      .tryAcquire({ waitMs: EXPIRY_LIMIT_MS })
      .catch(() => undefined);
    await within(WAITS_LIMIT_MS, async () => (await client.admin.lock('dead')).waiters.length > 0);
    clock.jumpWall(-DAY_MS);
    const grant = await waiting;
    if (grant?.acquired !== true) return broken('a dead session does not expire when the wall clock jumps back');
    clock.jumpWall(2 * DAY_MS);
    const lost = (): Promise<boolean> =>
      held.verify().then(
        () => false,
        () => true,
      );
    return (await within(LOSS_LIMIT_MS, lost))
      ? broken('a live session expired when the wall clock jumped ahead')
      : undefined;
  } finally {
    await holder.kill();
    await server.program.kill();
    clock.close();
    await Promise.all(clients.map((client) => client.close()));
  }
};
