/**
 * Requests that wait for nothing but the answer before, from all clients at the same moments: leaders come to expect them. Now and then
 * somebody has the leader hand over meanwhile. The lock that it asks for last others ask for as well, so that some stay away.
 */

import { HoldfastError } from '@holdfast/client';
import { BURST_EVERY_MS } from '../plan/plan.ts';
import { criticalSection } from './critical-sections.ts';
import { REGISTER_WRITES, useRegister } from './registers.ts';
import { MAX_PAUSE_MS, type ClientSession, type Workload } from './workload.ts';

/** Requests of a burst. */
const MIN_BURST = 16;
const MAX_BURST = 48;
/** Those of clients that read steadily have so many times as many: something is to hang meanwhile. */
const STEADY_BURST_TIMES = 2;
/** One burst in so many. */
const HANDS_OVER_ONE_IN = 6;
const HAND_OVER_TIMEOUT_MS = 5_000;

export const bursts: Workload = {
  name: 'bursts',
  checks: ['registers'],
  dueInMs({ plan, world }) {
    if (plan.bursts !== true) return undefined;
    const dueInMs = BURST_EVERY_MS - (world.nowMs() % BURST_EVERY_MS);
    return dueInMs <= MAX_PAUSE_MS ? dueInMs : undefined;
  },
  async step(session) {
    const { plan, random, world } = session;
    const times = plan.readEveryMs === undefined ? 1 : STEADY_BURST_TIMES;
    const length = times * (MIN_BURST + random.integer(MAX_BURST - MIN_BURST));
    const handsOverAt = random.integer(HANDS_OVER_ONE_IN * length);
    for (let n = 0; n < length && world.running(); n += 1) {
      if (n === handsOverAt) handOver(session);
      await useRegister(session, REGISTER_WRITES);
    }
    await criticalSection(session);
  },
};

function handOver({ client, plan, world }: ClientSession): void {
  if (!world.mayHandOver()) return;
  client.admin.transferLeadership(0, { timeoutMs: HAND_OVER_TIMEOUT_MS }).catch((error: unknown) => {
    if (!(error instanceof HoldfastError)) world.unexpected(plan.name, error);
  });
}
