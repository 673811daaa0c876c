/** The fenced store as a library: the rule, the engines, and the HTTP interface without a socket. The bin is main.ts. */

export * from './engine.ts';
export * from './engine-error.ts';
export * from './fence.ts';
export * from './fenced-store.ts';
export * from './http.ts';
export * from './http-guard.ts';
export * from './journal-engine.ts';
export type { KeyWrite } from './key-write.ts';
export * from './limits.ts';
export * from './lmdb-engine.ts';
export * from './precondition.ts';
export * from './refusal.ts';
