/**
 * Creates sequential nodes, a few at once, each under a name of its own: one that is done twice, by a request that the SDK has sent again
 * to another leader, leaves two nodes of one name. When everything has healed, every client lists all that there are.
 */

import { SEQUENTIAL_PREFIX, sequentialParent } from '../../history/sequential-nodes.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { readAll } from './read-all.ts';
import { createNode, createSequentialNode, listNodes } from './use-node.ts';

const PARENTS = 2;
/** New parents begin so often, so that none has very many children. */
const ROUND_MS = 5_000;
/** Creates that are under way together, and how many times in a row. */
const MAX_AT_ONCE = 6;
const MAX_BURST = 3;
const LIST_ONE_IN = 12;

export const exactlyOnce: Workload = {
  name: 'exactly-once',
  checks: ['exactly-once'],
  oneIn: 24,
  hasRounds: true,
  async step(session) {
    const { random, goesOn, world } = session;
    for (let left = 1 + random.integer(MAX_BURST); left > 0 && goesOn(); left -= 1) {
      const parent = sequentialParent(random.integer(PARENTS), Math.floor(world.nowMs() / ROUND_MS));
      if (random.integer(LIST_ONE_IN) === 0) await listNodes(session, parent);
      else await createSome(session, parent);
    }
  },
  async lastReading(session) {
    const rounds = Math.floor(session.world.nowMs() / ROUND_MS) + 1;
    const parents = Array.from({ length: PARENTS * rounds }, (_, n) =>
      sequentialParent(Math.floor(n / rounds), n % rounds),
    );
    await readAll(parents, (parent) => listNodes(session, parent));
  },
};

async function createSome(session: ClientSession, parent: string): Promise<void> {
  const { random, round, world } = session;
  const create = async (): Promise<string | undefined> =>
    await createSequentialNode(session, `${parent}/${SEQUENTIAL_PREFIX}${world.nextCall()}-`);
  const made = await Promise.all(Array.from({ length: 1 + random.integer(MAX_AT_ONCE) }, create));
  if (made.some((path) => path !== undefined)) round();
  // The first one of a round finds no parent; what was created in vain is not tried again.
  else await createNode(session, parent, '');
}
