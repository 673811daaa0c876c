/**
 * Keys of a fenced store of several replicas. Clients follow the group's configuration, and read, write, compare and set by revision, and
 * delete; some do so under a lock, with its token, and some of those write once more when they have given the lock back. When everything has
 * healed and nobody writes any more, every client reads the newest keys once more. What became of all the others the replicas' disks tell.
 */

import { lockNameFor } from '../../plan/lock-names.ts';
import { giveBack, takeLock } from '../locks/hold.ts';
import { readAll } from '../nodes/read-all.ts';
import type { ClientSession, Workload } from '../workload.ts';
import type { Group, KeptKey } from './group.ts';
import { deleteKey, installToken, readKey, writeKey, type NamedBucket } from './use-group.ts';

/** It takes writes without a token. */
const OPEN_BUCKET = 'open';
const KEYS = 4;
/** New keys begin so often: a history of one that all write must not become long. */
const ROUND_MS = 4_000;
/** Of keys that are read in the end: in an hour there have been more than anybody reads in the time. */
const LAST_ROUNDS = 20;
/** Calls of a worker without a pause: something is to be under way whenever a fault strikes. */
const MAX_BURST = 6;
/** Steps under a lock. */
const FENCED_ONE_IN = 5;
const WAIT_MS = 500;
const MAX_LATE_MS = 400;
/** Until a bucket that could not be made is asked for again. */
const AGAIN_MS = 100;

export const replicatedKv: Workload = {
  name: 'replicated-kv',
  checks: ['fence', 'linearizable-keys', 'epochs', 'configurations', 'replicas'],
  onRequest: true,
  takesLocks: true,
  usesReplicas: true,
  alone: true,
  hasRounds: true,
  async setup(session) {
    const { goesOn, sleep } = session;
    const group = groupOf(session);
    while (goesOn()) {
      try {
        await group.create(OPEN_BUCKET);
        return;
      } catch {
        await sleep(AGAIN_MS);
      }
    }
  },
  async step(session) {
    const { random, goesOn } = session;
    const group = groupOf(session);
    if (random.integer(FENCED_ONE_IN) === 0) {
      await underLock(session, group);
      return;
    }
    const bucket = openBucket(group);
    for (let left = 1 + random.integer(MAX_BURST); left > 0 && goesOn(); left -= 1) await useKey(session, bucket);
  },
  async lastReading(session) {
    const group = groupOf(session);
    const rounds = Math.floor(session.world.nowMs() / ROUND_MS) + 1;
    const newest = Array.from({ length: Math.min(rounds, LAST_ROUNDS) }, (_, n) => rounds - 1 - n);
    const keys = newest.flatMap((each) => Array.from({ length: KEYS }, (_, n) => keyName(n, each)));
    await readAll(keys, (key) => readKey(session, openBucket(group), key));
    const fenced = Array.from({ length: session.world.locks }, (_, n) => lockNameFor('replicated', n));
    for (const name of fenced) {
      const bucket = { name, through: group.bucket(name) };
      await readAll(keys, (key) => readKey(session, bucket, key));
    }
  },
};

function groupOf({ group }: ClientSession): Group {
  if (group === undefined) throw new TypeError('the plan has no replicas; the workload replicated-kv needs 3');
  return group;
}

function openBucket(group: Group): NamedBucket {
  return { name: OPEN_BUCKET, through: group.bucket(OPEN_BUCKET) };
}

function keyName(number: number, round: number): string {
  return `k${number}-${round}`;
}

function anyKey({ random, world }: ClientSession): string {
  return keyName(random.integer(KEYS), Math.floor(world.nowMs() / ROUND_MS));
}

function newValue({ plan, world }: ClientSession): string {
  return `${plan.name}-${world.nextCall()}`;
}

async function useKey(session: ClientSession, bucket: NamedBucket): Promise<void> {
  const { random, round } = session;
  const key = anyKey(session);
  switch (random.integer(8)) {
    case 0:
    case 1:
      if ((await readKey(session, bucket, key)) !== undefined) round();
      return;
    case 2:
    case 3:
    case 4:
      if (await writeKey(session, bucket, { key, value: newValue(session) })) round();
      return;
    case 5:
      if (await deleteKey(session, bucket, { key })) round();
      return;
    default:
      return await compareAndSet(session, bucket, key);
  }
}

/** Others change it meanwhile: that it was refused is an answer, too. */
async function compareAndSet(session: ClientSession, bucket: NamedBucket, key: string): Promise<void> {
  const { random, round } = session;
  const found = await readKey(session, bucket, key);
  if (found === undefined) return;
  const expected: KeptKey = { value: found.value, revision: found.revision };
  const removes = found.value !== null && random.integer(4) === 0;
  const done = removes
    ? await deleteKey(session, bucket, { key, expected })
    : await writeKey(session, bucket, { key, value: newValue(session), expected });
  if (done) round();
}

/** A bucket for each lock. Its holder writes what it has read; now and then it writes late, when the lock may be another's. */
async function underLock(session: ClientSession, group: Group): Promise<void> {
  const { random, sleep, world } = session;
  const lock = lockNameFor('replicated', random.integer(world.locks));
  const held = await takeLock(session, lock, { waitMs: WAIT_MS });
  if (held === undefined) return;
  const bucket = await installToken(session, group, lock, held.token);
  const key = anyKey(session);
  if (bucket !== undefined) {
    await compareAndSet(session, bucket, key);
    await writeKey(session, bucket, { key: anyKey(session), value: newValue(session) });
  }
  await giveBack(session, lock, held);
  if (bucket === undefined || random.integer(3) > 0) return;
  await sleep(random.integer(MAX_LATE_MS));
  await writeKey(session, bucket, { key, value: newValue(session) });
}
