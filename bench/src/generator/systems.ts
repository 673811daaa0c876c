/** How a session of each system is opened: over the bare protocol, or through the best client that npm has. */

import { openEtcd3Session } from './clients/etcd3-session.ts';
import { openIoredisSession } from './clients/ioredis-session.ts';
import { openSdkSession } from './clients/sdk-session.ts';
import { openNodeZooKeeperSession } from './clients/zookeeper-client-session.ts';
import { openEtcdSession } from './etcd/etcd-session.ts';
import { openHoldfastSession } from './holdfast/holdfast-session.ts';
import type { LockSession, OpenSession, RawSession } from './raw-session.ts';
import { openRedisSession } from './redis/redis-session.ts';
import { openZooKeeperSession } from './zookeeper/zookeeper-session.ts';

export const SYSTEMS = ['holdfast', 'zookeeper', 'etcd', 'redis'] as const;
export type SystemName = (typeof SYSTEMS)[number];

const raw: Readonly<Record<SystemName, OpenSession<RawSession>>> = {
  holdfast: openHoldfastSession,
  zookeeper: openZooKeeperSession,
  etcd: openEtcdSession,
  redis: openRedisSession,
};

const clients: Readonly<Record<SystemName, OpenSession<LockSession>>> = {
  holdfast: openSdkSession,
  zookeeper: openNodeZooKeeperSession,
  etcd: openEtcd3Session,
  redis: openIoredisSession,
};

export function rawOpener(system: SystemName): OpenSession<RawSession> {
  return raw[system];
}

export function clientOpener(system: SystemName): OpenSession<LockSession> {
  return clients[system];
}
