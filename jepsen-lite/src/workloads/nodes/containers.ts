/**
 * Containers that are filled, emptied and filled again, some at about the time at which they go: whoever finds one gone creates another and
 * goes on there. A few are never used. When everything has healed, every client empties its own and reads them until they are gone.
 */

import { CONTAINER_CHECK_MS, CONTAINER_PARENT } from '../../history/unused-nodes.ts';
import type { ClientSession, Workload } from '../workload.ts';
import { readAll } from './read-all.ts';
import { createBelow, createNode, deleteNode, readNode } from './use-node.ts';

/** At the same time, of a session; and of those that are never used. */
const MAX_CONTAINERS = 4;
const MAX_IDLE = 2;
const IDLE_ONE_IN = 8;
/** After empty ones may go, the first is filled again, and from one to the next at most so long: some are gone then. */
const MAX_LATE_MS = 400;
const MAX_STEP_MS = 150;
const LAST_READINGS_MS = 6_000;
const READ_EVERY_MS = 400;

interface Container {
  readonly path: string;
  readonly children: Set<string>;
}

interface Own {
  readonly used: Set<Container>;
  /** Nobody creates anything there. */
  readonly idle: Set<string>;
}

const containersOf = new WeakMap<ClientSession, Own>();

export const containers: Workload = {
  name: 'containers',
  checks: ['containers'],
  oneIn: 16,
  latestVersion: true,
  hasRounds: true,
  async setup(session) {
    containersOf.set(session, { used: new Set(), idle: new Set() });
    await createNode(session, CONTAINER_PARENT, '');
  },
  async step(session) {
    const { random } = session;
    const { used, idle } = own(session);
    if (random.integer(IDLE_ONE_IN) === 0) {
      const [path] = idle;
      if (path === undefined || idle.size < MAX_IDLE) await begin(session, 'idle');
      else await readNode(session, path);
      return;
    }
    const container = [...used][random.integer(MAX_CONTAINERS)] ?? (await begin(session, 'used'));
    if (container !== undefined) await use(session, container);
  },
  async lastReading(session) {
    const { used, idle } = own(session);
    const endsAtMs = session.world.nowMs() + LAST_READINGS_MS;
    while (used.size > 0 && session.client.state !== 'expired' && session.world.nowMs() < endsAtMs) {
      await readAll([...used], async (container) => {
        for (const child of container.children) await drop(session, container, child);
        await look(session, container);
      });
      await session.sleep(READ_EVERY_MS);
    }
    await readAll([...idle], (path) => readNode(session, path));
  },
};

function own(session: ClientSession): Own {
  return containersOf.get(session) ?? { used: new Set(), idle: new Set() };
}

/** Undefined when there is none. */
async function begin(session: ClientSession, kind: keyof Own): Promise<Container | undefined> {
  const { round, world } = session;
  const call = world.nextCall();
  const path = `${CONTAINER_PARENT}/b${call}`;
  const created = await createBelow(session, path, `${call}`, { container: true });
  if (created === 'no-parent') await createNode(session, CONTAINER_PARENT, '');
  // That the ensemble knows none yet is an answer, too.
  if (created === 'unsupported') round();
  if (created !== 'done') return undefined;
  if (kind === 'idle') {
    own(session).idle.add(path);
    return undefined;
  }
  const container = { path, children: new Set<string>() };
  own(session).used.add(container);
  // One that nobody has used yet stays for good.
  return (await fill(session, container)) ? container : undefined;
}

async function use(session: ClientSession, container: Container): Promise<void> {
  const { random } = session;
  const [child] = container.children;
  switch (random.integer(5)) {
    case 0:
      await look(session, container);
      return;
    case 1:
    case 2:
      await emptyAndRefill(session);
      return;
    case 3:
      if (child !== undefined) await drop(session, container, child);
      return;
    default:
      await fillOrReplace(session, container);
  }
}

/** All of them, so that one or another gets its child when its removal has just been proposed. */
async function emptyAndRefill(session: ClientSession): Promise<void> {
  const { random, goesOn, sleep } = session;
  const emptied = [...own(session).used];
  for (const container of emptied) for (const child of container.children) await drop(session, container, child);
  await sleep(CONTAINER_CHECK_MS + random.integer(MAX_LATE_MS));
  const filled: Promise<void>[] = [];
  for (const container of emptied) {
    if (!goesOn()) break;
    filled.push(fillOrReplace(session, container));
    await sleep(random.integer(MAX_STEP_MS));
  }
  await Promise.all(filled);
}

async function fillOrReplace(session: ClientSession, container: Container): Promise<void> {
  if (!(await fill(session, container)) && !own(session).used.has(container)) await begin(session, 'used');
}

async function fill(session: ClientSession, container: Container): Promise<boolean> {
  const { round, world } = session;
  const path = `${container.path}/c${world.nextCall()}`;
  const created = await createBelow(session, path, '');
  if (created === 'no-parent') own(session).used.delete(container);
  // Of one that may come up yet its checker knows.
  if (created !== 'done') return false;
  container.children.add(path);
  round();
  return true;
}

async function drop(session: ClientSession, container: Container, child: string): Promise<void> {
  // Nobody else takes it away: where nobody can tell, it is tried again.
  const isGone = (await deleteNode(session, child)) || (await readNode(session, child))?.value === null;
  if (isGone) container.children.delete(child);
}

async function look(session: ClientSession, container: Container): Promise<void> {
  const found = await readNode(session, container.path);
  if (found?.value === null) own(session).used.delete(container);
}
