/** The pure core of consensus. */

export * from './config.ts';
export * from './membership/configuration.ts';
export * from './membership/configuration-codec.ts';
export type { ConfigurationAt } from './membership/configuration-history.ts';
export type { ElectionCounts } from './core-state.ts';
export type { ConfigurationEntry, DurableState } from './durable-state.ts';
export * from './event.ts';
export * from './invariant.ts';
export * from './membership/membership-change.ts';
export * from './message-text.ts';
export * from './raft-core.ts';
export { TermRuns, type TermRun } from './log/term-runs.ts';
export * from './types.ts';
