/** What a program needs that runs the replicas of a group in a world of its own, or looks at them from outside: the harness. */

export { takeBackup, type BackupCounts } from '../backup/take-backup.ts';
export type { BackupRecord } from '../backup/backup-file.ts';
export { ReplicaBackend, type ReplicaBackendDeps, type ReplicaBackendOptions } from '../daemon/replica-backend.ts';
export { NotPrimaryError, type GroupFacts, type Served } from '../http/store-source.ts';
export { offlineBuckets } from './durable/index.ts';
