/** Nodes that all clients create, set, delete and read: registers, several at once and without waiting for the answer before. */

import type { ClientSession, Workload } from '../workload.ts';
import { createNode, deleteNode, readNode, setNode } from './use-node.ts';

const REGISTERS = 3;
/** Kinds of use of a register; the first ones change it. */
const USES = 5;
export const REGISTER_WRITES = 4;
/** Changes and reads of registers that a worker sends without waiting for the answer before. */
const MAX_AT_ONCE = 3;

export const registers: Workload = {
  name: 'registers',
  checks: ['registers'],
  async step(session) {
    const count = 1 + session.random.integer(MAX_AT_ONCE);
    await Promise.all(Array.from({ length: count }, () => useRegister(session, USES)));
  },
};

/** Of the first `uses` kinds. */
export async function useRegister(session: ClientSession, uses: number): Promise<void> {
  const { plan, random, world } = session;
  const path = `/register-${random.integer(REGISTERS)}`;
  const value = `${plan.name}-${world.nextCall()}`;
  switch (random.integer(uses)) {
    case 0:
      await createNode(session, path, value);
      return;
    case 1:
      await deleteNode(session, path);
      return;
    case 2:
    case 3:
      await setNode(session, path, value);
      return;
    default:
      await readNode(session, path);
  }
}
