/**
 * Commands on nodes up to the point at which they change something: ZooKeeper's data model, and its order of checks, since a client
 * that breaks two rules at once relies on which of them it is told. What is at and under /holdfast belongs to the service.
 */

import { isReservedPath, type Command, type Operation } from '@holdfast/protocol';

import { errorReply, missingNodeReply, quoted, type ErrorReply } from '../../replies.ts';
import type { Session } from '../../sessions/session.ts';
import type { NodeSlot } from '../../tree/node-slot.ts';
import { treeLimitReply } from '../tree-limits.ts';
import type { PlannedChange } from './change.ts';
import { planCreate } from './plan-create.ts';
import { extraBytesOfSet, reservedReply, type PlanView } from './plan-view.ts';

export type { PlanView } from './plan-view.ts';

type NodeCommandName = 'create' | 'set' | 'delete' | 'createNode' | 'setNode';
export type NodeCommand = Extract<Command, { type: NodeCommandName }>;

/** What the command of that session will do, or why it will not. Changes nothing. */
export function plan(view: PlanView, session: Session, command: NodeCommand): PlannedChange | ErrorReply {
  switch (command.type) {
    case 'create': {
      const { path, data, mode } = command;
      return planCreate(view, session, { path, data, mode, ttlMs: 0 });
    }
    case 'createNode': {
      const { path, data, mode, ttlMs } = command;
      return planCreate(view, session, { path, data: data[0], mode, ttlMs });
    }
    case 'set':
      return planSet(view, command.path, command.data, command.version);
    case 'setNode':
      return planSet(view, command.path, command.data[0], command.version);
    case 'delete':
      return planDelete(view, command.path, command.version);
  }
}

/** The same of an operation of a transaction. */
export function planOperation(view: PlanView, session: Session, operation: Operation): PlannedChange | ErrorReply {
  switch (operation.type) {
    case 'check':
      return planCheck(view, operation.path, operation.version);
    case 'create': {
      const { path, data, mode, ttlMs } = operation;
      return planCreate(view, session, { path, data: data[0], mode, ttlMs });
    }
    case 'set':
      return planSet(view, operation.path, operation.data[0], operation.version);
    case 'delete':
      return planDelete(view, operation.path, operation.version);
  }
}

const CHECKED: PlannedChange = { type: 'check' };

/** A read, so that what is reserved can be checked, too: a queue node exists for as long as its session holds the lock, or waits. */
function planCheck(view: PlanView, path: string, version: number): PlannedChange | ErrorReply {
  const node = view.nodes.find(path);
  if (node === undefined) return missing(view, path);
  return versionReply(view, node, path, version) ?? CHECKED;
}

function planSet(
  view: PlanView,
  path: string,
  data: Uint8Array | undefined,
  version: number,
): PlannedChange | ErrorReply {
  if (isReservedPath(path)) return reservedReply(path);
  const { nodes } = view;
  const node = nodes.find(path);
  if (node === undefined) return missing(view, path);
  const mismatch = versionReply(view, node, path, version);
  if (mismatch !== undefined) return mismatch;
  const more = (data?.length ?? 0) - nodes.dataLength(node) + extraBytesOfSet(nodes, node, data);
  return treeLimitReply(view, 0, 0, more) ?? { type: 'set', node, data };
}

/** Deleting a lock's queue node revokes that wait or hold, whoever deletes it; nothing else that is reserved can be deleted. */
function planDelete(view: PlanView, path: string, version: number): PlannedChange | ErrorReply {
  if (path === '/') return errorReply('INVALID_ARGUMENT', '"/" cannot be deleted');
  const node = view.nodes.find(path);
  if (node === undefined) return missing(view, path);
  const acquire = view.locks.acquireOf(node);
  if (acquire === undefined && isReservedPath(path)) return reservedReply(path);
  const mismatch = versionReply(view, node, path, version);
  if (mismatch !== undefined) return mismatch;
  const children = view.nodes.childCount(node);
  if (children > 0) return errorReply('NOT_EMPTY', `${quoted(path)} has children (${children}); delete them first`);
  return acquire === undefined ? { type: 'delete', node } : { type: 'revoke', acquire };
}

function missing({ limits }: PlanView, path: string): ErrorReply {
  return missingNodeReply(path, limits.maxPathLength);
}

function versionReply(view: PlanView, node: NodeSlot, path: string, expected: number): ErrorReply | undefined {
  const version = view.nodes.version(node);
  if (expected === -1 || expected === version) return undefined;
  return errorReply('BAD_VERSION', `${quoted(path)} has version ${version}, not ${expected}; read it again`);
}
