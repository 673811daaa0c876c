/** Who holds a lock, who waits, and how that changes: the watch of its nodes, in the words of locks. */

import { LOCKS_PATH, encodeLockName, type Answer, type Holder, type Query, type QueueEntry } from '@holdfast/protocol';
import { offAbort, onAbort } from '@holdfast/runtime';
import { HoldfastError } from '../errors.ts';
import { callQuery } from '../session/channels/read-pipeline.ts';
import type { Session } from '../session/session.ts';
import { LockQueue } from './lock-queue.ts';

/** `state`: how it is at the beginning, and again after changes that were missed. */
export interface LockEvent {
  readonly type: 'state' | 'granted' | 'released' | 'waiting' | 'left';
  /** The name of the lock that it is about; of several that are watched together, one. */
  readonly lock: string;
  /** Of the entry that has done it. */
  readonly index: number;
  /**
   * Whose acquire it was that was granted or released, that waits now or has given up; undefined for `state`. Its session is 0 when it was
   * gone before it could be asked for.
   */
  readonly place: Holder | undefined;
  /** Who holds the lock now. */
  readonly holders: readonly Holder[];
  /** How many wait. */
  readonly waiters: number;
  /**
   * How many acquires come before the first one of this client: its place in the queue, those who hold the lock counted. 0 when it holds the
   * lock itself; undefined when it has none.
   */
  readonly before: number | undefined;
}

export interface LockWatchOptions {
  /** Ends the watch; the iterator throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** How often the picture of one moment is tried to be taken; then the latest counts, and what happens since corrects it. */
const MAX_PICTURES = 20;

export async function* watchLock(
  session: Session,
  lock: string,
  options: LockWatchOptions,
): AsyncGenerator<LockEvent, void, undefined> {
  const path = `${LOCKS_PATH}/${encodeLockName(lock)}`;
  const watch = session.watch(path, { ...options, recursive: true, onMissed: 'resync' });
  try {
    await watch.started;
    let queue = await pictureOf(session, lock, path);
    yield eventOf('state', lock, queue, undefined, session);
    for await (const event of watch) {
      if (event.type === 'resync') {
        queue = await pictureOf(session, lock, path);
        yield eventOf('state', lock, queue, undefined, session);
        continue;
      }
      if (event.index <= queue.since || event.path === path) continue;
      const change = queue.apply(event, event.path.slice(path.length + 1));
      if (change === undefined) continue;
      if (queue.hasStrangers) queue.learn((await askQueue(session, lock)).entries);
      if (change.type === 'waiting' && queue.wasGrantedAtOnce(change.place)) continue;
      yield eventOf(change.type, lock, queue, queue.present(change.place), session);
    }
  } finally {
    await watch.return();
  }
}

/** The same of several, as they come: each begins with its `state`. */
export async function* watchLocks(
  session: Session,
  locks: readonly string[],
  { signal }: LockWatchOptions,
): AsyncGenerator<LockEvent, void, undefined> {
  const aborter = new AbortController();
  const abort = (reason: unknown): void => aborter.abort(reason);
  const arrived: (readonly [LockWatching, LockEvent])[] = [];
  const failures: unknown[] = [];
  let wake = (): void => undefined;
  const ask = (watching: LockWatching): void => {
    watching
      .next()
      .then((result) => {
        if (result.done !== true) arrived.push([watching, result.value]);
      })
      .catch((error: unknown) => failures.push(error))
      .finally(() => wake());
  };
  signal?.throwIfAborted();
  if (signal !== undefined) onAbort(signal, abort);
  try {
    for (const lock of locks) ask(watchLock(session, lock, { signal: aborter.signal }));
    for (;;) {
      const [next] = arrived.splice(0, 1);
      if (next !== undefined) {
        ask(next[0]);
        yield next[1];
      } else if (failures.length > 0) throw failures[0];
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    if (signal !== undefined) offAbort(signal, abort);
    // What is asked by now ends by it, and leaves its watch.
    aborter.abort();
  }
}

type LockWatching = ReturnType<typeof watchLock>;

function eventOf(
  type: LockEvent['type'],
  lock: string,
  queue: LockQueue,
  place: Holder | undefined,
  session: Session,
): LockEvent {
  const { index, holders, waiters } = queue;
  return { type, lock, index, place, holders, waiters, before: queue.before(session.id) };
}

/** Places and the names of their nodes come from two answers, which must show the same. */
async function pictureOf(session: Session, lock: string, path: string): Promise<LockQueue> {
  for (let attempt = 1; ; attempt += 1) {
    // Both leave in one frame, and are mostly answered in one turn.
    const [queue, nodes] = await Promise.all([askQueue(session, lock), askNames(session, path)]);
    const same = nodes.index >= queue.index && nodes.changedAt <= queue.index;
    const fits = nodes.names.length === queue.entries.length || queue.truncated;
    if ((same && fits) || attempt === MAX_PICTURES) return new LockQueue(queue.index, nodes.names, queue.entries);
  }
}

async function askQueue(
  session: Session,
  lock: string,
): Promise<{ readonly index: number; readonly entries: readonly QueueEntry[]; readonly truncated: boolean }> {
  const { answer, index } = await ask(session, { type: 'lock', lock }, `watch lock "${lock}"`);
  if (answer.type !== 'lock') throw unexpected(answer.type);
  return { index, entries: answer.queue, truncated: answer.truncated };
}

async function askNames(
  session: Session,
  path: string,
): Promise<{ readonly index: number; readonly names: readonly string[]; readonly changedAt: number }> {
  try {
    const { answer, index } = await ask(session, { type: 'children', path }, `watch ${path}`);
    if (answer.type !== 'children') throw unexpected(answer.type);
    return { index, names: answer.names, changedAt: answer.stat.pzxid };
  } catch (error) {
    // A lock that nobody holds has no node.
    if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error;
    return { index: Infinity, names: [], changedAt: 0 };
  }
}

async function ask(
  session: Session,
  query: Query,
  what: string,
): Promise<{ readonly answer: Answer; readonly index: number }> {
  let index = 0;
  const onAnswer = (source: { readonly index: number }): void => {
    index = source.index;
  };
  const answer = await callQuery(session.reads, query, what, { consistency: 'session', onAnswer });
  return { answer, index };
}

function unexpected(type: string): HoldfastError {
  return new HoldfastError(`the lock was answered with ${type}; client and server do not match`, {
    code: 'UNSUPPORTED',
  });
}
