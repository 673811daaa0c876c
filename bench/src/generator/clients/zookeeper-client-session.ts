/** ZooKeeper through node-zookeeper-client, which has no locks of its own: the recipe on top of its calls, for free locks. */

import zookeeper from 'node-zookeeper-client';

import type { LockSession, OpenOptions } from '../raw-session.ts';

export function openNodeZooKeeperSession(options: OpenOptions, opened: (session: LockSession) => void): void {
  const { onFailure } = options;
  const client = zookeeper.createClient(options.address, { sessionTimeout: options.sessionTimeoutMs });
  let queueNode = '';
  const session: LockSession = {
    acquire(lock, granted) {
      const parent = `/${lock}`;
      client.create(`${parent}/lock-`, zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL, (error, path) => {
        if (isFailure(error)) return onFailure(failure(error));
        queueNode = path;
        const own = path.slice(parent.length + 1);
        client.getChildren(parent, (failed, children) => {
          if (isFailure(failed)) return onFailure(failure(failed));
          if (children.toSorted()[0] === own) granted();
          else onFailure(new Error(`${parent} is not free; only free locks are measured through this client`));
        });
      });
    },
    release(done) {
      client.remove(queueNode, (error) => {
        if (isFailure(error)) onFailure(failure(error));
        else done();
      });
    },
    prepareLock(lock, done) {
      client.mkdirp(`/${lock}`, (error) => {
        if (isFailure(error)) onFailure(failure(error));
        else done();
      });
    },
    close(done) {
      client.close();
      done();
    },
  };
  client.once('connected', () => opened(session));
  client.once('expired', () => onFailure(new Error('the session expired')));
  client.connect();
}

/** Its typings promise an error that is often none. */
function isFailure(error: unknown): boolean {
  return error !== null && error !== undefined;
}

function failure(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
