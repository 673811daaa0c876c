/**
 * Nodes with times to live: each is read, set, and given a child that is taken away again. Some are set when they are about to go. When
 * everything has healed and nothing is set any more, every client reads its own until they are gone.
 */

import { LIMITED_PARENT } from '../../history/unused-nodes.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { readAll } from './read-all.ts';
import { createBelow, createNode, deleteNode, readNode, setNode } from './use-node.ts';

/** The long one outlives a fail-over: what of it is over before must count after it. */
const TTLS_MS = [1_000, 1_000, 8_000];
/** At the same time, of a session. */
const MAX_NODES = 6;
/** How much later than its time to live a node is set that is about to go; some are gone then. */
const MAX_LATE_MS = 1_000;
/** In the end, until those should be gone that live longest. */
const LAST_READINGS_MS = 14_000;
const READ_EVERY_MS = 400;

interface OwnNode {
  readonly path: string;
  readonly ttlMs: number;
  child: string | undefined;
}

const nodesOf = new WeakMap<ClientSession, Set<OwnNode>>();

export const ttlNodes: Workload = {
  name: 'ttl-nodes',
  checks: ['ttl-nodes'],
  oneIn: 24,
  latestVersion: true,
  hasRounds: true,
  async setup(session) {
    nodesOf.set(session, new Set());
    await createNode(session, LIMITED_PARENT, '');
  },
  async step(session) {
    const { random } = session;
    const nodes = [...own(session)];
    const node = nodes[random.integer(MAX_NODES)];
    if (node === undefined) await begin(session);
    else await use(session, node);
  },
  async lastReading(session) {
    const endsAtMs = session.world.nowMs() + LAST_READINGS_MS;
    while (own(session).size > 0 && session.client.state !== 'expired' && session.world.nowMs() < endsAtMs) {
      await readAll([...own(session)], async (node) => {
        if (node.child !== undefined) await dropChild(session, node, node.child);
        await look(session, node);
      });
      await session.sleep(READ_EVERY_MS);
    }
  },
};

function own(session: ClientSession): Set<OwnNode> {
  return nodesOf.get(session) ?? new Set();
}

async function begin(session: ClientSession): Promise<void> {
  const { random, round, world } = session;
  const ttlMs = TTLS_MS[random.integer(TTLS_MS.length)] ?? 0;
  const call = world.nextCall();
  const path = `${LIMITED_PARENT}/n${call}`;
  const created = await createBelow(session, path, `${call}`, { ttlMs });
  if (created === 'done') own(session).add({ path, ttlMs, child: undefined });
  if (created === 'no-parent') await createNode(session, LIMITED_PARENT, '');
  // That the ensemble knows none yet is an answer, too.
  if (created === 'done' || created === 'unsupported') round();
}

async function use(session: ClientSession, node: OwnNode): Promise<void> {
  const { random, goesOn, sleep } = session;
  switch (random.integer(6)) {
    case 0:
      await renew(session, node);
      return;
    case 1:
      // It goes at about that time.
      await sleep(node.ttlMs + random.integer(MAX_LATE_MS));
      if (goesOn()) await renew(session, node);
      return;
    case 2:
      if (node.child === undefined) await addChild(session, node);
      else await dropChild(session, node, node.child);
      return;
    default:
      await look(session, node);
  }
}

async function renew(session: ClientSession, node: OwnNode): Promise<void> {
  if (await setNode(session, node.path, `${session.world.nextCall()}`)) session.round();
  await look(session, node);
}

async function look(session: ClientSession, node: OwnNode): Promise<void> {
  const found = await readNode(session, node.path);
  if (found?.value === null) own(session).delete(node);
}

async function addChild(session: ClientSession, node: OwnNode): Promise<void> {
  const { round, world } = session;
  const path = `${node.path}/c${world.nextCall()}`;
  const created = await createBelow(session, path, '');
  if (created === 'done') {
    node.child = path;
    round();
  } else if (created === 'no-parent') own(session).delete(node);
}

async function dropChild(session: ClientSession, node: OwnNode, child: string): Promise<void> {
  // Nobody else takes it away: where nobody can tell, it is tried again.
  const isGone = (await deleteNode(session, child)) || (await readNode(session, child))?.value === null;
  if (isGone) node.child = undefined;
}
