/**
 * Requests that wait for nothing but the answer before, from all clients at the same moments: leaders come to expect them. Now and then
 * somebody has the leader transfer leadership meanwhile. The lock that it asks for last others ask for as well, so that some stay away.
 */

import { HoldfastError } from '@holdfast/client';
import { BURST_EVERY_MS } from '../plan/plan.ts';
import { criticalSection } from './locks/critical-sections.ts';
import { REGISTER_WRITES, useRegister } from './nodes/registers.ts';
import { maxPauseOf, type ClientSession, type Workload } from './workload.ts';

/** Requests of a burst. */
const MIN_BURST = 16;
const MAX_BURST = 48;
/** Those of clients that read steadily have so many times as many: something is to hang meanwhile. */
const STEADY_BURST_TIMES = 2;
/** One burst in so many. */
const TRANSFER_ONE_IN = 6;
const TRANSFER_TIMEOUT_MS = 5_000;

export const bursts: Workload = {
  name: 'bursts',
  checks: ['registers'],
  takesLocks: true,
  dueInMs({ plan, world }) {
    if (plan.bursts !== true) return undefined;
    const dueInMs = BURST_EVERY_MS - (world.nowMs() % BURST_EVERY_MS);
    return dueInMs <= maxPauseOf(plan) ? dueInMs : undefined;
  },
  async step(session) {
    const { plan, random, world } = session;
    const times = plan.readEveryMs === undefined ? 1 : STEADY_BURST_TIMES;
    const length = times * (MIN_BURST + random.integer(MAX_BURST - MIN_BURST));
    const transferAt = random.integer(TRANSFER_ONE_IN * length);
    for (let n = 0; n < length && world.running(); n += 1) {
      if (n === transferAt) transferLeadership(session);
      await useRegister(session, REGISTER_WRITES);
    }
    await criticalSection(session);
  },
};

function transferLeadership({ client, plan, world }: ClientSession): void {
  if (!world.mayTransfer()) return;
  client.admin.transferLeadership(0, { timeoutMs: TRANSFER_TIMEOUT_MS }).catch((error: unknown) => {
    if (!(error instanceof HoldfastError)) world.unexpected(plan.name, error);
  });
}
