/** Replicas of a group, for tests that need an ensemble. */

export { ReplicaStore } from '../../src/replication/durable/index.ts';
export * from '../../src/replication/node/ensemble-configuration.ts';
export * from '../../src/replication/node/group-nodes.ts';
export * from '../../src/replication/node/group-membership.ts';
export * from '../../src/replication/node/replica-node.ts';
export * from '../../src/replication/node/replica-registry.ts';
