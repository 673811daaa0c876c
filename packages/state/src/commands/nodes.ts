/**
 * create, set and delete: ZooKeeper's data model, and its order of checks, since a client that breaks two rules at once relies on
 * which of them it is told. What is at and under /holdfast belongs to the service.
 */

import {
  isEphemeral,
  isReservedPath,
  isSequential,
  parentPath,
  pathProblem,
  RESERVED_PATH,
  type Command,
  type Reply,
} from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import { sequenceSuffix } from '../locks/lock-name.ts';
import type { QueuedAcquire } from '../locks/lock.ts';
import type { Session } from '../sessions/session.ts';
import { DONE, errorReply, invalidPathReply, missingNodeReply, quoted, unsupportedReply } from '../replies.ts';
import type { State } from '../state.ts';
import type { NodeSlot } from '../tree/node-store.ts';
import { storedNameBytes } from '../tree/stored-name.ts';

export function create(state: State, session: Session, command: Extract<Command, { type: 'create' }>): Reply {
  const { nodes, rules } = state;
  const { mode, path: given } = command;
  if (rules.createModes[mode] !== true) return unsupportedReply(`create mode ${mode}`, state.version);
  const ephemeral = isEphemeral(mode);
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
  const { maxEphemeralsPerSession } = state.limits;
  if (ephemeral && session.ephemerals.size >= maxEphemeralsPerSession) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the session has ${session.ephemerals.size} ephemeral nodes, at most ${maxEphemeralsPerSession}; delete some, or use more sessions`,
    );
  }
  const full = limitReply(state, 1, storedNameBytes(name), command.data.length);
  if (full !== undefined) return full;

  const node = nodes.create({
    parent,
    name,
    data: command.data,
    ephemeralOwner: ephemeral ? session.id : 0,
    index: state.index,
    stamp: state.stamp,
  });
  if (ephemeral) session.ephemerals.add(node);
  return { type: 'created', path, stat: nodes.stat(node) };
}

export function set(state: State, command: Extract<Command, { type: 'set' }>): Reply {
  const { nodes } = state;
  const { path, data } = command;
  if (isReservedPath(path)) return reservedReply(path);
  const node = nodes.find(path);
  if (node === undefined) return missingNodeReply(path);
  const mismatch = versionReply(state, node, path, command.version);
  if (mismatch !== undefined) return mismatch;
  const full = limitReply(state, 0, 0, data.length - nodes.dataLength(node));
  if (full !== undefined) return full;
  nodes.setData(node, data, state.index, state.stamp);
  return { type: 'changed', stat: nodes.stat(node) };
}

/** Deleting a lock's queue node revokes that wait or hold, whoever deletes it; nothing else that is reserved can be deleted. */
export function deleteNode(state: State, command: Extract<Command, { type: 'delete' }>): Reply {
  const { nodes, index } = state;
  const { path } = command;
  if (path === '/') return errorReply('INVALID_ARGUMENT', '"/" cannot be deleted');
  const node = nodes.find(path);
  if (node === undefined) return missingNodeReply(path);
  const acquire = state.locks.acquireOf(node);
  if (acquire === undefined && isReservedPath(path)) return reservedReply(path);
  const mismatch = versionReply(state, node, path, command.version);
  if (mismatch !== undefined) return mismatch;
  const children = nodes.childCount(node);
  if (children > 0) return errorReply('NOT_EMPTY', `${quoted(path)} has children (${children}); delete them first`);

  if (acquire !== undefined) {
    revoke(state, acquire);
    return DONE;
  }
  const owner = nodes.ephemeralOwner(node);
  if (owner !== 0) {
    const forgotten = state.sessions.get(owner)?.ephemerals.delete(node) ?? false;
    invariant(forgotten, 'an ephemeral node belongs to a living session');
  }
  nodes.remove(node, index);
  return DONE;
}

function revoke(state: State, acquire: QueuedAcquire): void {
  const { session, lock, acquireIndex } = acquire;
  state.locks.remove(acquire, state.index);
  state.events.push({ type: 'lost', session: session.id, lock: lock.name, acquireIndex, reason: 'revoked' });
  state.locks.settle(lock, state.index, state.stamp, state.events);
}

/** Undefined when the tree has room for so much more. */
export function limitReply(
  state: State,
  moreNodes: number,
  moreNameBytes: number,
  moreDataBytes: number,
): Reply | undefined {
  const { nodes, limits } = state;
  if (moreNodes > 0 && nodes.size + moreNodes > limits.maxNodes) {
    return errorReply('LIMIT_EXCEEDED', `the tree has ${nodes.size} nodes, at most ${limits.maxNodes}; delete some`);
  }
  if (moreNameBytes > 0 && nodes.nameBytes + moreNameBytes > limits.maxTreeNameBytes) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the names of the tree take ${nodes.nameBytes} bytes, at most ${limits.maxTreeNameBytes}; delete some nodes`,
    );
  }
  if (moreDataBytes > 0 && nodes.dataBytes + moreDataBytes > limits.maxTreeDataBytes) {
    return errorReply(
      'LIMIT_EXCEEDED',
      `the tree has ${nodes.dataBytes} bytes of data, at most ${limits.maxTreeDataBytes}; delete some nodes`,
    );
  }
  return undefined;
}

function versionReply(state: State, node: NodeSlot, path: string, expected: number): Reply | undefined {
  const version = state.nodes.version(node);
  if (expected === -1 || expected === version) return undefined;
  return errorReply('BAD_VERSION', `${quoted(path)} has version ${version}, not ${expected}; read it again`);
}

function reservedReply(path: string): Reply {
  return errorReply(
    'RESERVED_PATH',
    `${quoted(path)} is reserved: clients change nothing at and under ${RESERVED_PATH} but by acquire and release; use another path`,
  );
}
