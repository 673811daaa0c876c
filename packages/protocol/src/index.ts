/** What clients and servers say to each other: messages, codec, error codes, limits. No I/O. */

export * from './admin.ts';
export { decodeAttachRequest, encodeAttachRequest, type AttachRequest } from './attach-request.ts';
export * from './command.ts';
export * from './error-code.ts';
export * from './features.ts';
export * from './limits.ts';
export * from './lock-kind.ts';
export * from './malformed-error.ts';
export * from './members.ts';
export * from './message.ts';
export * from './name.ts';
export * from './pack.ts';
export * from './query.ts';
export { replies, type Acquire, type Holder, type Reply } from './reply.ts';
export type { Stat } from './stat.ts';
export * from './text.ts';
