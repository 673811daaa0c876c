/** Redis through ioredis: SET NX PX, and the compare-and-delete script that every guide shows. */

import { randomUUID } from 'node:crypto';

import { Redis } from 'ioredis';

import { RELEASE_SCRIPT } from '../redis/redis-session.ts';
import type { LockSession, OpenOptions } from '../raw-session.ts';
import { settle } from './settle.ts';

export function openIoredisSession(options: OpenOptions, opened: (session: LockSession) => void): void {
  const [host = '', port = ''] = options.address.split(':');
  const client = new Redis({ host, port: Number(port) });
  const owner = randomUUID();
  let held = '';
  const session: LockSession = {
    acquire(lock, granted) {
      held = lock;
      const answered = (reply: string | null): void => {
        if (reply === 'OK') granted();
        else options.onFailure(new Error('Redis has no queue of waiters: only free locks are measured'));
      };
      settle(client.set(lock, owner, 'PX', 60_000, 'NX'), answered, options.onFailure);
    },
    release(done) {
      settle(client.evalsha(scriptHash, 1, held, owner), done, options.onFailure);
    },
    prepareLock: (_lock, done) => done(),
    close(done) {
      client.disconnect();
      done();
    },
  };
  let scriptHash = '';
  client.once('error', options.onFailure);
  const loaded = (hash: unknown): void => {
    scriptHash = String(hash);
    opened(session);
  };
  settle(client.script('LOAD', RELEASE_SCRIPT), loaded, options.onFailure);
}
