/** etcd through etcd3 and its own lock, which takes a lease for every acquire and revokes it to release. */

import { Etcd3, type Lock } from 'etcd3';

import type { LockSession, OpenOptions } from '../raw-session.ts';
import { settle } from './settle.ts';

export function openEtcd3Session(options: OpenOptions, opened: (session: LockSession) => void): void {
  const client = new Etcd3({ hosts: `http://${options.address}` });
  let held: Lock | undefined;
  opened({
    acquire(name, granted) {
      const lock = client.lock(name).ttl(Math.ceil(options.sessionTimeoutMs / 1_000));
      const keep = (acquired: Lock): void => {
        held = acquired;
        granted();
      };
      settle(lock.acquire(), keep, options.onFailure);
    },
    release(done) {
      if (held !== undefined) settle(held.release(), done, options.onFailure);
    },
    prepareLock: (_lock, done) => done(),
    close(done) {
      client.close();
      done();
    },
  });
}
