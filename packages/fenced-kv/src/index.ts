/** The fenced store as a library: the rule, the engines, and the HTTP interface without a socket. The bin is main.ts. */

export type { Following } from './changes/change-feed.ts';
export type { Change, Revision } from './changes/revision.ts';
export * from './confirmation.ts';
export * from './engines/engine.ts';
export * from './engines/engine-error.ts';
export * from './fence.ts';
export * from './fenced-store.ts';
export * from './http/handler.ts';
export * from './http/guard.ts';
export * from './engines/journal-engine.ts';
export type { KeyWrite } from './keys/key-write.ts';
export type { LargeValue, ValueChunks, ValueUpload } from './keys/large-values.ts';
export * from './limits.ts';
export * from './engines/lmdb-engine.ts';
export * from './keys/precondition.ts';
export * from './refusal.ts';
