/** What clients and servers say to each other: messages, codec, error codes, limits. No I/O. */

export * from './messages/admin.ts';
export { decodeAttachRequest, encodeAttachRequest, type AttachRequest } from './messages/attach-request.ts';
export * from './messages/command.ts';
export * from './messages/create-mode.ts';
export type { Deadlock, DeadlockStep } from './messages/deadlock.ts';
export * from './error-code.ts';
export * from './features.ts';
export * from './limits.ts';
export * from './messages/lock-kind.ts';
export * from './malformed-error.ts';
export * from './messages/members.ts';
export * from './messages/message.ts';
export * from './name.ts';
export type { Operation, UnknownOperation } from './messages/operation.ts';
export { TransactionReader } from './messages/transaction-reader.ts';
export * from './pack.ts';
export * from './messages/query.ts';
export { replies, type Acquire, type Holder, type Reply } from './messages/reply.ts';
export { PLAIN_NODE, type NodeTraits, type Stat } from './messages/stat.ts';
export * from './text.ts';
export {
  NODE_EVENT_TYPES,
  WATCH_KINDS,
  type NodeEvent,
  type NodeEventType,
  type UnwatchedNode,
  type WatchKind,
  type WatchedNode,
} from './messages/watch.ts';
