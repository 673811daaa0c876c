/** Our own SDK, as its users use it. */

import { connect, type Client, type HeldLock } from '@holdfast/client';

import type { LockSession, OpenOptions } from '../raw-session.ts';
import { settle } from './settle.ts';

export function openSdkSession(options: OpenOptions, opened: (session: LockSession) => void): void {
  const connecting = connect({ servers: [options.address], sessionTimeoutMs: options.sessionTimeoutMs });
  settle(connecting, (client) => opened(sessionOf(client, options)), options.onFailure);
}

function sessionOf(client: Client, { onFailure }: OpenOptions): LockSession {
  let held: HeldLock | undefined;
  return {
    acquire(lock, granted) {
      const keep = (grant: HeldLock): void => {
        held = grant;
        granted();
      };
      settle(client.lock(lock).acquire(), keep, onFailure);
    },
    release(done) {
      if (held !== undefined) settle(held.release(), done, onFailure);
    },
    prepareLock: (_lock, done) => done(),
    close(done) {
      settle(client.close(), done, onFailure);
    },
  };
}
