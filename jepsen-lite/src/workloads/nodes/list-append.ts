/**
 * Appends to lists that all clients share: an append reads the whole list and writes it back with one element more, if nobody else has
 * meanwhile. When everything has healed and nobody appends any more, every client reads all lists once more. So what was acknowledged and
 * is gone shows, even when all servers have lost their power: this is the workload of durability.
 */

import { listPath, withElement } from '../../history/list-nodes.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { readAll } from './read-all.ts';
import { createNode, readNode, setNode } from './use-node.ts';

const LISTS = 3;
/** New lists begin so often: a list that all write whole must not become long. */
const ROUND_MS = 3_000;
/** Of appends, one after another: something is to be under way whenever a fault strikes. */
const MAX_BURST = 8;
/** A number of a call is unique in the run; so it is shorter. */
const RADIX = 36;

export const listAppend: Workload = {
  name: 'list-append',
  checks: ['registers', 'list-append'],
  oneIn: 24,
  hasRounds: true,
  async step(session) {
    const { random, goesOn } = session;
    for (let left = 1 + random.integer(MAX_BURST); left > 0 && goesOn(); left -= 1) await append(session);
  },
  async lastReading(session) {
    const rounds = Math.floor(session.world.nowMs() / ROUND_MS) + 1;
    const lists = Array.from({ length: LISTS * rounds }, (_, n) => listPath(Math.floor(n / rounds), n % rounds));
    await readAll(lists, (list) => readNode(session, list));
  },
};

async function append(session: ClientSession): Promise<void> {
  const { random, round, world } = session;
  const path = listPath(random.integer(LISTS), Math.floor(world.nowMs() / ROUND_MS));
  let found = await readNode(session, path);
  if (found?.value === null) found = (await createNode(session, path, '')) ? { value: '', version: 0 } : undefined;
  if (found === undefined || found.value === null) return;
  const list = withElement(found.value, world.nextCall().toString(RADIX));
  if (await setNode(session, path, list, found.version)) round();
}
