/** Our own SDK with locks of every kind; each session has one lock object, as an application keeps it. */

import { connect, type Client, type HeldLock } from '@holdfast/client';

import type { LockSession, OpenOptions, OpenSession } from '../raw-session.ts';
import { settle } from './settle.ts';

export const LOCK_KINDS = [
  'exclusive-locks',
  'read-locks',
  'shared-read-locks',
  'semaphores',
  'shared-semaphores',
  'reentrant-locks',
  're-entries',
  'two-locks',
] as const;
export type LockKindName = (typeof LOCK_KINDS)[number];

/** Of a semaphore that all sessions share: nobody waits. */
const SHARED_PERMITS = 1_000;
/** So many times a session of `re-entries` enters and leaves before timers get their turn: neither waits for the network. */
export const RE_ENTRIES_EACH = 100;

/** Whether all sessions use one lock, which none of them waits for. */
export function isSharedByAll(kind: LockKindName): boolean {
  return kind === 'shared-read-locks' || kind === 'shared-semaphores';
}

export function kindOpener(kind: LockKindName): OpenSession<LockSession> {
  return (options, opened) => {
    const connecting = connect({ servers: [options.address], sessionTimeoutMs: options.sessionTimeoutMs });
    settle(connecting, (client) => opened(sessionOf(kind, client, options)), options.onFailure);
  };
}

function sessionOf(kind: LockKindName, client: Client, { onFailure }: OpenOptions): LockSession {
  const close = (done: () => void): void => settle(client.close(), done, onFailure);
  if (kind === 're-entries') return reentering(client, onFailure, close);
  let take = notPrepared;
  let held: HeldLock | undefined;
  return {
    prepareLock(name, done) {
      take = takerOf(kind, client, name);
      done();
    },
    acquire(_lock, granted) {
      const keep = (grant: HeldLock): void => {
        held = grant;
        granted();
      };
      settle(take(), keep, onFailure);
    },
    release(done) {
      if (held !== undefined) settle(held.release(), done, onFailure);
    },
    close,
  };
}

function notPrepared(): Promise<HeldLock> {
  return Promise.reject(new Error('no lock was prepared'));
}

function takerOf(kind: Exclude<LockKindName, 're-entries'>, client: Client, name: string): () => Promise<HeldLock> {
  switch (kind) {
    case 'exclusive-locks': {
      const lock = client.lock(name);
      return () => lock.acquire();
    }
    case 'read-locks':
    case 'shared-read-locks': {
      const lock = client.readWriteLock(name).read();
      return () => lock.acquire();
    }
    case 'semaphores':
    case 'shared-semaphores': {
      const semaphore = client.semaphore(name, { permits: kind === 'semaphores' ? 1 : SHARED_PERMITS });
      return () => semaphore.acquire();
    }
    case 'reentrant-locks': {
      const lock = client.lock(name, { reentrant: true });
      return () => lock.acquire();
    }
    case 'two-locks': {
      const both = client.locks([name, `${name}-second`]);
      return () => both.acquire();
    }
  }
}

/** Holds its lock all the time; an operation enters it again and leaves it, {@link RE_ENTRIES_EACH} times. */
function reentering(client: Client, onFailure: (error: Error) => void, close: LockSession['close']): LockSession {
  let enter = notPrepared;
  return {
    prepareLock(name, done) {
      const lock = client.lock(name, { reentrant: true });
      enter = () => lock.acquire();
      settle(lock.acquire(), () => done(), onFailure);
    },
    acquire(_lock, granted) {
      settle(enterAndLeave(enter), () => setImmediate(granted), onFailure);
    },
    release: (done) => done(),
    close,
  };
}

async function enterAndLeave(enter: () => Promise<HeldLock>): Promise<void> {
  for (let entry = 0; entry < RE_ENTRIES_EACH; entry += 1) {
    const held = await enter();
    await held.release();
  }
}
