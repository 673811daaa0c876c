/**
 * Registers that change by compare-and-set alone: a client reads one and sets it if it still has that version. Now and then a version is
 * demanded that the register has not, or it is deleted and begins anew with version 0.
 */

import type { ClientSession, Workload } from '../workload.ts';
import { createNode, deleteNode, readNode, setNode } from './use-node.ts';

const REGISTERS = 2;
/** Steps of a worker without a pause: conflicts are what this is about. */
const MAX_BURST = 4;
const DELETE_ONE_IN = 10;
const WRONG_VERSION_ONE_IN = 8;

export const casRegister: Workload = {
  name: 'cas-register',
  checks: ['registers'],
  oneIn: 24,
  hasRounds: true,
  async step(session) {
    for (let left = 1 + session.random.integer(MAX_BURST); left > 0 && session.goesOn(); left -= 1) {
      await compareAndSet(session);
    }
  },
};

async function compareAndSet(session: ClientSession): Promise<void> {
  const { plan, random, round, world } = session;
  const path = `/cas-${random.integer(REGISTERS)}`;
  const found = await readNode(session, path);
  if (found === undefined) return;
  const value = `${plan.name}-${world.nextCall()}`;
  if (found.value === null) {
    await createNode(session, path, value);
  } else if (random.integer(DELETE_ONE_IN) === 0) {
    await deleteNode(session, path, found.version);
  } else {
    const version = found.version + (random.integer(WRONG_VERSION_ONE_IN) === 0 ? 1 : 0);
    if (await setNode(session, path, value, version)) round();
  }
}
