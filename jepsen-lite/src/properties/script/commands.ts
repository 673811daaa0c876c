/** Which command a move makes of what there is: of the client's own and others' waits and holds, and of the nodes that exist. */

import {
  CommandType,
  createMode,
  encodeLockName,
  hasTtl,
  isReservedPath,
  isSequential,
  LockKind,
  LOCKS_PATH,
  MAX_CREATE_MODE,
  MAX_LOCK_KIND,
  MAX_TTL_MS,
  pack,
  type Command,
  type Operation,
} from '@holdfast/protocol';

import { allAcquires, type View } from '../observation/view.ts';
import type { Client, Sent } from './client.ts';
import { payloadOf, sentAs } from './entry.ts';
import type { Move, MoveKind } from './move.ts';
import { BAD_LOCKS, BAD_PATHS, choose, RESERVED_PATHS, LOCKS, PATHS } from './pools.ts';

const UNKNOWN_SESSION = 1_000_000;
const MOST_DATA = 7;
/** One creation in sixty is of a mode that only a later version has. */
const UNKNOWN_MODE_PICK = 59;

/** Of clients' commands, the last numbers: a later version may have them. */
const UNKNOWN_TYPES = [33, 60, 63] as const;

/** What entries carry whose move says nothing of it: commands that would do something, if they were not refused. */
const ANY = [
  'acquire',
  'release',
  'cancel',
  'create',
  'delete',
  'close',
  'try',
  'set',
  'transaction',
] as const satisfies MoveKind[];

export function sentBy(move: Move, client: Client, view: View): Sent {
  switch (move.kind) {
    case 'malformed':
      return malformed(move);
    case 'acquire':
    case 'try':
      return payloadOf(acquire(move));
    case 'release':
    case 'cancel':
      return payloadOf({ type: move.kind, ...acquireToGiveUp(move, client, view) });
    case 'create':
      return payloadOf(
        create(
          move,
          move.flavour === 9
            ? choose(BAD_PATHS, move.what)
            : choose(PATHS, move.flavour < 4 ? move.what % 2 : move.what),
        ),
      );
    case 'set':
      return payloadOf({ type: 'set', path: somePath(move, view), data: data(move.flavour), version: version(move) });
    case 'delete':
      return payloadOf({ type: 'delete', path: somePath(move, view), version: version(move) });
    case 'createNode':
      return payloadOf({ ...kindNode(move, choose(PATHS, move.what)), type: 'createNode' });
    case 'setNode':
      return payloadOf({ type: 'setNode', path: somePath(move, view), data: dataOrNone(move), version: version(move) });
    case 'transaction':
      return payloadOf({ type: 'transaction', operations: operations(move, view) });
    case 'reserved':
      return payloadOf(reserved(move));
    case 'revoke':
      return payloadOf({ type: 'delete', path: queueNode(move, view), version: -1 });
    case 'close':
      return payloadOf({ type: 'closeSession', session: move.flavour < 5 ? 0 : client.session });
    case 'closeOther':
      return payloadOf({
        type: 'closeSession',
        session: move.flavour === 9 ? UNKNOWN_SESSION : someSession(move, view),
      });
    case 'gap':
    case 'oddNumber':
    case 'oldGeneration':
    case 'otherServer':
    case 'endedSession':
    case 'repeat':
    case 'unsupported':
    case 'refuse':
    case 'open':
    case 'attach':
    case 'attachOtherwise':
    case 'expire':
    case 'expireOtherwise':
    case 'noop':
    case 'raise':
    case 'continueEnd':
    case 'removeUnused':
      return sentBy({ ...move, kind: ANY[move.what % ANY.length] ?? 'acquire' }, client, view);
  }
}

/** A living one, if there is any. */
export function someSession({ pick }: Move, view: View): number {
  return choose([...view.sessions.keys()], pick) ?? UNKNOWN_SESSION;
}

function acquire({ kind, what, flavour }: Move): Command {
  const lock = flavour === 9 && what > 9 ? choose(BAD_LOCKS, what) : choose(LOCKS, what);
  return { type: 'acquire', lock, kind: LockKind.mutex, wait: kind !== 'try' };
}

/** Mostly its own; else another session's, one that is gone, its own under another lock's name, or one that never was. */
function acquireToGiveUp(
  { what, pick, flavour }: Move,
  client: Client,
  view: View,
): { lock: string; acquireIndex: number } {
  const all = allAcquires(view);
  const own = all.filter(({ session }) => session === client.session);
  const others = all.filter(({ session }) => session !== client.session);
  const never = { lock: choose(LOCKS, what), acquireIndex: pick };
  const { lock, acquireIndex } =
    (flavour < 6
      ? choose(
          own.filter(({ token }) => flavour > 3 || token !== 0),
          pick,
        )
      : flavour === 6
        ? choose(client.acquires, pick)
        : flavour < 9
          ? choose(
              others.filter(({ token }) => flavour === 8 || token !== 0),
              pick,
            )
          : undefined) ?? never;
  return flavour === 9 && own.length > 0
    ? { lock: never.lock, acquireIndex: choose(own, pick)?.acquireIndex ?? pick }
    : { lock, acquireIndex };
}

function create({ pick, flavour }: Move, path: string): Command {
  const sequential = flavour % 3 === 1;
  return {
    type: 'create',
    path: sequential && pick % 2 === 0 ? `${path}/` : path,
    data: data(pick),
    mode: pick === UNKNOWN_MODE_PICK ? MAX_CREATE_MODE : createMode({ ephemeral: flavour % 2 === 0, sequential }),
  };
}

type CreateOperation = Extract<Operation, { type: 'create' }>;

/** Mostly of a kind that goes by itself; now and then with a time to live that cannot be, or where none may be. */
function kindNode({ what, pick, flavour }: Move, path: string): CreateOperation {
  const mode = choose([4, 4, 5, 5, 6, 0, 1, 2, 3, MAX_CREATE_MODE], pick + what);
  const ttlMs = hasTtl(mode) ? choose([1, 1_000, MAX_TTL_MS, 60_000, 0, MAX_TTL_MS + 1], pick) : 0;
  const odd = flavour === 9 && pick % 3 === 0;
  return {
    type: 'create',
    path: isSequential(mode) && pick % 2 === 0 ? `${path}/` : path,
    data: dataOrNone({ pick, flavour }),
    mode,
    ttlMs: odd ? 7 : ttlMs,
  };
}

function dataOrNone({ pick, flavour }: Pick<Move, 'pick' | 'flavour'>): readonly Uint8Array[] {
  return flavour % 3 === 0 ? [] : [data(pick % 3)];
}

/** Some that belong together, and some by chance; mostly few, so that all succeed now and then. */
function operations(move: Move, view: View): readonly Operation[] {
  const { what, pick, flavour } = move;
  const count = flavour % 5;
  return Array.from({ length: count }, (_, at): Operation => {
    const each = { ...move, what: what + at, pick: (pick + 7 * at) % 60, flavour: (flavour + 3 * at) % 9 };
    const path = somePath(each, view);
    switch ((pick + at * (1 + (what % 3))) % 6) {
      case 0:
        return { type: 'check', path: flavour === 3 ? queueNode(each, view) : path, version: version(each) };
      case 1:
        return kindNode(each, choose(PATHS, each.what));
      case 2:
        return { type: 'set', path, data: dataOrNone(each), version: version(each) };
      case 3:
        return { type: 'delete', path, version: version(each) };
      default:
        // Below what the one before may have made, and several ephemerals at once.
        return {
          type: 'create',
          path: choose(PATHS, what + at),
          data: [data(each.pick % 2)],
          mode: choose([0, 1, 1, 2, 3, 3], each.pick),
          ttlMs: 0,
        };
    }
  });
}

function reserved({ what, pick, flavour }: Move): Command {
  const path = choose(RESERVED_PATHS, what);
  if (flavour < 4) return create({ kind: 'create', who: 0, what, pick, flavour, ack: 0 }, path);
  return flavour < 7 ? { type: 'set', path, data: data(pick), version: -1 } : { type: 'delete', path, version: -1 };
}

/** One of the pool, or whatever there is, sequential nodes included. */
function somePath({ what, pick, flavour }: Move, view: View): string {
  if (flavour === 9) return choose(BAD_PATHS, what);
  const existing = [...view.nodes.keys()].filter((path) => path !== '/' && !isReservedPath(path));
  return flavour < 4 ? choose(PATHS, what) : (choose(existing, pick) ?? choose(PATHS, what));
}

function queueNode({ pick, what }: Move, view: View): string {
  const entry = choose(allAcquires(view), pick);
  if (entry === undefined) return `${LOCKS_PATH}/${encodeLockName(choose(LOCKS, what))}`;
  const container = `${LOCKS_PATH}/${encodeLockName(entry.lock)}`;
  const name = view.nodes
    .get(container)
    ?.names.find((child) => view.nodes.get(`${container}/${child}`)?.stat.czxid === entry.acquireIndex);
  return `${container}/${name ?? ''}`;
}

function version({ pick }: Move): number {
  return pick % 4 === 0 ? (pick >> 2) % 3 : -1;
}

function data(pick: number): Uint8Array {
  return new Uint8Array(pick % MOST_DATA).fill(pick);
}

/** Also one that nobody knows, one of a lock that nobody knows, and one with a field that nobody knows. */
function malformed({ what, pick, flavour }: Move): Sent {
  const name = choose(['acquire', 'release', 'cancel', 'create', 'set', 'delete', 'closeSession'] as const, what);
  const valid = payloadOf({ type: 'acquire', lock: choose(LOCKS, pick), kind: LockKind.mutex, wait: true }).payload;
  switch (flavour) {
    case 0:
      return sentAs(name, new Uint8Array(0));
    case 1:
      return sentAs(name, new Uint8Array([0xc1]));
    case 2:
    case 3:
      return sentAs('acquire', valid.subarray(0, Math.min(pick, valid.length - 1)));
    case 4:
      // Of a kind that only a later version has.
      return {
        name: undefined,
        type: CommandType.acquire,
        payload: pack([choose(LOCKS, pick), MAX_LOCK_KIND - (pick % 3), true]),
      };
    case 5:
      return sentAs('acquire', pack([pick, LockKind.mutex, true]));
    case 6:
      return sentAs('create', pack([choose(PATHS, pick), new Uint8Array(1), true]));
    case 7:
      return sentAs('acquire', pack([choose(BAD_LOCKS, pick), LockKind.mutex, true]));
    case 8:
      return sentAs('acquire', pack([choose(LOCKS, pick), LockKind.mutex, true, pick]));
    case 9:
      return { name: undefined, type: choose(UNKNOWN_TYPES, pick), payload: valid };
    default:
      return sentAs(name, pack([]));
  }
}
