/**
 * Large writes to a node of its own, at a steady rate: the log grows, servers take snapshots of their state and forget what these hold.
 * Nobody looks at what was written.
 */

import { HoldfastError } from '@holdfast/client';
import { failureOf } from './calls.ts';
import type { ClientSession, Workload } from './workload.ts';

const WRITE_BYTES = 64 * 1024;

export const bulkWrites: Workload = {
  name: 'bulk-writes',
  checks: [],
  async beside(session) {
    const { goesOn, plan, sleep } = session;
    if (plan.bulkBytesPerSecond === undefined) return;
    const everyMs = (1_000 * WRITE_BYTES) / plan.bulkBytesPerSecond;
    while (goesOn()) {
      await write(session);
      await sleep(everyMs);
    }
  },
};

async function write({ client, plan, world }: ClientSession): Promise<void> {
  const path = `/bulk-${plan.name}`;
  const data = new Uint8Array(WRITE_BYTES);
  try {
    await client.nodes.set(path, data).catch(async (error: unknown) => {
      if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error;
      await client.nodes.create(path, data);
    });
  } catch (error) {
    if (failureOf(error) === undefined) world.unexpected(plan.name, error);
  }
}
