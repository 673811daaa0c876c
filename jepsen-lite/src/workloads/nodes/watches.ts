/**
 * Every client watches all nodes below one, over whatever becomes of its servers, while all of them create, change and delete nodes there. A
 * watch is left now and then, and another goes on where it was. What was told, and what answers have shown, is recorded.
 */

import { HoldfastError, type NodeWatchEvent } from '@holdfast/client';
import { WATCHED_PARENT } from '../../history/watched-nodes.ts';
import type { ClientSession, Workload } from '../workload.ts';

const NODES = 4;
/** A node below a node, now and then. */
const CHILD_ONE_IN = 3;
const MAX_BURST = 4;
const MIN_WATCH_MS = 500;
const MAX_WATCH_MS = 8_000;
/** Every second watch goes on where the one before was left; the others begin with the present. */
const GO_ON_ONE_IN = 2;
/** How long a watch stays when nothing new is begun. */
const LAST_EVENTS_MS = 1_000;
const RETRY_MS = 200;
const LOOK_MS = 100;

export const watches: Workload = {
  name: 'watches',
  checks: ['watches'],
  oneIn: 12,
  hasRounds: true,
  async setup(session) {
    await create(session, WATCHED_PARENT);
  },
  async step(session) {
    const { random, goesOn } = session;
    for (let left = 1 + random.integer(MAX_BURST); left > 0 && goesOn(); left -= 1) await change(session);
  },
  async beside(session) {
    const { random, world, goesOn, sleep } = session;
    let told = 0;
    while (goesOn()) {
      const endsAtMs = world.nowMs() + MIN_WATCH_MS + random.integer(MAX_WATCH_MS);
      const from = told !== 0 && random.integer(GO_ON_ONE_IN) === 0 ? told : undefined;
      told = await watchUntil(session, endsAtMs, from);
      await sleep(random.integer(RETRY_MS));
    }
  },
};

/** Resolves with the index up to which it was told; 0 where it has not begun. */
async function watchUntil(session: ClientSession, endsAtMs: number, from: number | undefined): Promise<number> {
  const { calls, client, world, goesOn, sleep } = session;
  const number = world.nextCall();
  const watch = client.nodes.watch(WATCHED_PARENT, {
    recursive: true,
    onMissed: 'resync',
    ...(from === undefined ? {} : { from }),
  });
  let told = 0;
  const record = (event: NodeWatchEvent): void => {
    const { type, path, index } = event;
    if (type === 'children') return;
    told = Math.max(told, index);
    const gap = type === 'resync' ? { from: event.from } : {};
    calls.record({ type: 'watched', watch: number, event: type, path, index, ...gap });
  };
  const listening = (async () => {
    told = await watch.started;
    calls.record({ type: 'watched', watch: number, event: 'started', path: WATCHED_PARENT, index: told });
    for await (const event of watch) record(event);
  })().catch((error: unknown) => {
    // Its session has ended, or it could not begin in time.
    if (!(error instanceof HoldfastError)) throw error;
  });
  while (goesOn() && world.nowMs() < endsAtMs) await sleep(LOOK_MS);
  if (!goesOn()) await sleep(LAST_EVENTS_MS);
  const wasStarted = told !== 0;
  await watch.return();
  if (wasStarted) calls.record({ type: 'watched', watch: number, event: 'left', path: WATCHED_PARENT, index: told });
  await listening;
  return told;
}

async function change(session: ClientSession): Promise<void> {
  const { random, round } = session;
  const node = `${WATCHED_PARENT}/n${random.integer(NODES)}`;
  const path = random.integer(CHILD_ONE_IN) === 0 ? `${node}/child` : node;
  switch (random.integer(4)) {
    case 0:
      await remove(session, path);
      return;
    case 1:
      await show(session, path);
      return;
    default:
      if ((await set(session, path)) || (await create(session, path))) round();
  }
}

async function create({ calls, client, world }: ClientSession, path: string): Promise<boolean> {
  const { nodes, sessionId: session } = client;
  const value = `${world.nextCall()}`;
  const run = async (): Promise<object> => {
    const { stat } = await nodes.create(path, value);
    calls.record({ type: 'shown', by: 'write', path, index: stat.czxid });
    return {};
  };
  return await calls.make({ f: 'create', path, value, session }, run, ['NODE_EXISTS', 'NOT_FOUND']);
}

async function set({ calls, client, world }: ClientSession, path: string): Promise<boolean> {
  const { nodes, sessionId: session } = client;
  const value = `${world.nextCall()}`;
  const run = async (): Promise<{ newVersion: number }> => {
    const { mzxid: index, version } = await nodes.set(path, value);
    calls.record({ type: 'shown', by: 'write', path, index });
    return { newVersion: version };
  };
  return await calls.make({ f: 'set', path, value, session }, run, ['NOT_FOUND']);
}

async function remove({ calls, client }: ClientSession, path: string): Promise<void> {
  const { nodes, sessionId: session } = client;
  const run = async (): Promise<object> => {
    await nodes.delete(path);
    return {};
  };
  await calls.make({ f: 'delete', path, session }, run, ['NOT_FOUND', 'NOT_EMPTY']);
}

/** Whatever the server has. */
async function show({ calls, client, random }: ClientSession, path: string): Promise<void> {
  const consistency = random.integer(2) === 0 ? 'local' : 'session';
  const { nodes, sessionId: session } = client;
  await calls.make({ f: 'read', path, consistency, session }, async () => {
    try {
      const { data, stat } = await nodes.get(path, { consistency });
      calls.record({ type: 'shown', by: 'read', path, index: stat.mzxid });
      return { value: new TextDecoder().decode(data), version: stat.version };
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error;
      return { value: null };
    }
  });
}
