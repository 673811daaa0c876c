/** The pure core of replication: no I/O, no clock, no randomness. The same events make the same effects. */

export * from './invariant.ts';
export * from './replication-core.ts';
export * from './rules.ts';
export * from './types.ts';
