/** The pure core of consensus. */

export * from './config.ts';
export * from './configuration.ts';
export * from './configuration-codec.ts';
export type { Boot, ElectionCounts } from './core-state.ts';
export * from './event.ts';
export * from './invariant.ts';
export * from './raft-core.ts';
export * from './types.ts';
