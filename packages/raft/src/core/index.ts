/** The pure core of consensus. */

export * from './config.ts';
export type { Boot } from './core-state.ts';
export * from './event.ts';
export * from './invariant.ts';
export * from './raft-core.ts';
export * from './types.ts';
