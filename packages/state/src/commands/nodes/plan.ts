/**
 * create, set and delete up to the point at which they change something: ZooKeeper's data model, and its order of checks, since a client
 * that breaks two rules at once relies on which of them it is told. What is at and under /holdfast belongs to the service.
 */

import {
  isEphemeral,
  isReservedPath,
  isSequential,
  parentPath,
  pathProblem,
  RESERVED_PATH,
  type Command,
} from '@holdfast/protocol';

import type { StateLimits } from '../../limits.ts';
import type { QueuedAcquire } from '../../locks/lock.ts';
import {
  errorReply,
  invalidPathReply,
  missingNodeReply,
  quoted,
  unsupportedReply,
  type ErrorReply,
} from '../../replies.ts';
import type { Session } from '../../sessions/session.ts';
import { sequenceSuffix } from '../../tree/node-name.ts';
import type { NodeSlot } from '../../tree/node-slot.ts';
import { storedNameBytes } from '../../tree/storage/stored-name.ts';
import type { TreeView } from '../../tree/tree-view.ts';
import type { Rules } from '../../versions.ts';
import { treeLimitReply } from '../tree-limits.ts';
import type { PlannedChange } from './change.ts';

/** What decides about a change: the state as it is, or a draft over it (draft.ts). */
export interface PlanView {
  readonly nodes: TreeView;
  readonly locks: { acquireOf(node: NodeSlot): QueuedAcquire | undefined };
  readonly rules: Rules;
  readonly limits: StateLimits;
  readonly index: number;
  readonly stamp: number;
  ephemeralsOf(session: Session): number;
}

type NodeCommandName = 'create' | 'set' | 'delete';
export type NodeCommand = Extract<Command, { type: NodeCommandName }>;

/** What the command of that session will do, or why it will not. Changes nothing. */
export function plan(view: PlanView, session: Session, command: NodeCommand): PlannedChange | ErrorReply {
  switch (command.type) {
    case 'create':
      return planCreate(view, session, command);
    case 'set':
      return planSet(view, command);
    case 'delete':
      return planDelete(view, command);
  }
}

function planCreate(
  view: PlanView,
  session: Session,
  command: Extract<Command, { type: 'create' }>,
): PlannedChange | ErrorReply {
  const { nodes, rules, limits } = view;
  const { mode, path: given, data } = command;
  if (rules.createModes[mode] !== true) return unsupportedReply(`create mode ${mode}`, rules.version);
  if (isReservedPath(given)) return reservedReply(given);
  if (!given.startsWith('/')) return invalidPathReply(given, 'does not begin with "/"');
  const parentOfGiven = parentPath(given);
  const parent = nodes.find(parentOfGiven);
  if (parent === undefined) {
    return errorReply(
      'NOT_FOUND',
      `${quoted(given)} cannot be created: its parent ${quoted(parentOfGiven)} does not exist; create that first`,
    );
  }
  const path = isSequential(mode) ? given + sequenceSuffix(nodes.creations(parent)) : given;
  const problem = pathProblem(path);
  if (problem !== undefined) return invalidPathReply(path, problem);
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (path === '/' || nodes.child(parent, name) !== undefined)
    return errorReply('NODE_EXISTS', `${quoted(path)} exists already`);
  if (nodes.ephemeralOwner(parent) !== 0) {
    return errorReply(
      'EPHEMERAL_PARENT',
      `${quoted(path)} cannot be created: its parent is ephemeral and has no children`,
    );
  }
  const ephemeral = isEphemeral(mode);
  if (ephemeral && view.ephemeralsOf(session) >= limits.maxEphemeralsPerSession) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the session has ${view.ephemeralsOf(session)} ephemeral nodes, at most ${limits.maxEphemeralsPerSession}; delete some, or use more sessions`,
    );
  }
  const full = treeLimitReply(view, 1, storedNameBytes(name), data.length);
  if (full !== undefined) return full;
  const { index, stamp } = view;
  return { type: 'create', path, parent, name, data, ephemeralOwner: ephemeral ? session.id : 0, index, stamp };
}

function planSet(view: PlanView, command: Extract<Command, { type: 'set' }>): PlannedChange | ErrorReply {
  const { path, data } = command;
  if (isReservedPath(path)) return reservedReply(path);
  const node = view.nodes.find(path);
  if (node === undefined) return missingNodeReply(path);
  const refusal =
    versionReply(view, node, path, command.version) ??
    treeLimitReply(view, 0, 0, data.length - view.nodes.dataLength(node));
  return refusal ?? { type: 'set', node, data };
}

/** Deleting a lock's queue node revokes that wait or hold, whoever deletes it; nothing else that is reserved can be deleted. */
function planDelete(view: PlanView, command: Extract<Command, { type: 'delete' }>): PlannedChange | ErrorReply {
  const { path } = command;
  if (path === '/') return errorReply('INVALID_ARGUMENT', '"/" cannot be deleted');
  const node = view.nodes.find(path);
  if (node === undefined) return missingNodeReply(path);
  const acquire = view.locks.acquireOf(node);
  if (acquire === undefined && isReservedPath(path)) return reservedReply(path);
  const mismatch = versionReply(view, node, path, command.version);
  if (mismatch !== undefined) return mismatch;
  const children = view.nodes.childCount(node);
  if (children > 0) return errorReply('NOT_EMPTY', `${quoted(path)} has children (${children}); delete them first`);
  return acquire === undefined ? { type: 'delete', node } : { type: 'revoke', acquire };
}

function versionReply(view: PlanView, node: NodeSlot, path: string, expected: number): ErrorReply | undefined {
  const version = view.nodes.version(node);
  if (expected === -1 || expected === version) return undefined;
  return errorReply('BAD_VERSION', `${quoted(path)} has version ${version}, not ${expected}; read it again`);
}

function reservedReply(path: string): ErrorReply {
  return errorReply(
    'RESERVED_PATH',
    `${quoted(path)} is reserved: clients change nothing at and under ${RESERVED_PATH} but by acquire and release; use another path`,
  );
}
