/** Replicas of a group, for tests that need an ensemble: the program does not use them yet. */

export { ReplicaStore } from '../../src/replication/durable/index.ts';
export * from '../../src/replication/node/ensemble-configuration.ts';
export * from '../../src/replication/node/group-membership.ts';
export * from '../../src/replication/node/replica-node.ts';
