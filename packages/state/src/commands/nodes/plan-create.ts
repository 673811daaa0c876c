/**
 * The creation of a node up to the point at which it is made. Kind and time to live are checked first, then what is wrong with the path's
 * shape, its parent, its name, whether it is taken, a parent that may have no children, and limits.
 */

import {
  CreateMode,
  hasTtl,
  isEphemeral,
  isReservedPath,
  isSequential,
  MAX_TTL_MS,
  MIN_TTL_MS,
  parentPath,
  pathProblem,
  sequenceSuffix,
} from '@holdfast/protocol';

import { errorReply, invalidPathReply, quoted, unsupportedReply, type ErrorReply } from '../../replies.ts';
import type { Session } from '../../sessions/session.ts';
import { isTtl, lifetimeExtra, type NodeLifetime } from '../../tree/node-lifetime.ts';
import { extrasBytes, type NodeExtra } from '../../tree/storage/node-extras.ts';
import { storedNameBytes } from '../../tree/storage/stored-name.ts';
import { treeLimitReply } from '../tree-limits.ts';
import type { Creation } from './change.ts';
import { NO_DATA_EXTRA, reservedReply, type PlanView } from './plan-view.ts';

export interface Wanted {
  readonly path: string;
  /** Undefined for a node without any. */
  readonly data: Uint8Array | undefined;
  readonly mode: number;
  /** 0 for none. */
  readonly ttlMs: number;
}

const EMPTY = new Uint8Array(0);

export function planCreate(view: PlanView, session: Session, wanted: Wanted): Creation | ErrorReply {
  const { nodes, rules, limits } = view;
  const { mode, path: given } = wanted;
  if (rules.createModes[mode] !== true) return unsupportedReply(`create mode ${mode}`, rules.version);
  const mismatch = ttlReply(wanted);
  if (mismatch !== undefined) return mismatch;
  if (isReservedPath(given)) return reservedReply(given);
  const shape = shapeProblem(given, rules.nulIsCheckedFirst);
  if (shape !== undefined) return invalidPathReply(given, shape);
  const parentOfGiven = parentPath(given);
  const parent = nodes.find(parentOfGiven);
  if (parent === undefined) {
    return errorReply(
      'NOT_FOUND',
      `${quoted(given)} cannot be created: its parent ${quoted(parentOfGiven)} does not exist; create that first`,
    );
  }
  const sequence = isSequential(mode) ? nodes.creations(parent) : 0;
  const path = isSequential(mode) ? given + sequenceSuffix(sequence) : given;
  const problem = pathProblem(path, false, limits.maxPathLength);
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
  const { data = EMPTY } = wanted;
  const extras = extrasOf(wanted);
  const more = data.length + (extras === undefined ? 0 : extrasBytes(extras));
  const full = treeLimitReply(view, 1, storedNameBytes(name), more);
  if (full !== undefined) return full;
  const { index, stamp } = view;
  const ephemeralOwner = ephemeral ? session.id : 0;
  const node = { type: 'create', path, sequence, parent, name, data, ephemeralOwner, index, stamp } as const;
  return extras === undefined ? node : Object.assign(node, { extras });
}

function ttlReply({ mode, ttlMs }: Wanted): ErrorReply | undefined {
  if (!hasTtl(mode)) {
    if (ttlMs === 0) return undefined;
    return errorReply(
      'INVALID_ARGUMENT',
      `a node of create mode ${mode} has no time to live, and ${ttlMs} ms were given; leave one of them out`,
    );
  }
  if (isTtl(ttlMs)) return undefined;
  return errorReply(
    'INVALID_ARGUMENT',
    `a time to live of ${ttlMs} ms cannot be; give one from ${MIN_TTL_MS} to ${MAX_TTL_MS} ms`,
  );
}

/** What is wrong with a path before its parent is looked for. */
function shapeProblem(path: string, nulIsCheckedFirst: boolean): string | undefined {
  if (!path.startsWith('/')) return 'does not begin with "/"';
  return nulIsCheckedFirst && path.includes('\0') ? 'has a character that is not allowed' : undefined;
}

/** Undefined for none: nearly all nodes have none. */
function extrasOf({ mode, data, ttlMs }: Wanted): readonly NodeExtra[] | undefined {
  const lifetime = lifetimeOf(mode, ttlMs);
  if (lifetime === undefined && data !== undefined) return undefined;
  const extras = lifetime === undefined ? [] : [lifetimeExtra(lifetime)];
  return data === undefined ? [...extras, NO_DATA_EXTRA] : extras;
}

function lifetimeOf(mode: number, ttlMs: number): NodeLifetime | undefined {
  if (mode === CreateMode.container) return { type: 'container' };
  return hasTtl(mode) ? { type: 'ttl', ttlMs } : undefined;
}
