/** The log and the buckets of a replica on a disk, and the core bound to them. */

export * from './replica.ts';
export * from './replica-store.ts';
export * from './replicated-engine.ts';
export * from './offline-buckets.ts';
export * from './replica-directory.ts';
