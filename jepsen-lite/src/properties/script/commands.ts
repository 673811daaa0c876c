/** Which command a move makes of what there is: of the client's own and others' waits and holds, and of the nodes that exist. */

import {
  acquireCommand,
  acquireSeveralCommand,
  acquireWithCommand,
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
  MUTEX,
  pack,
  type Command,
  type LockRequest,
  type Operation,
} from '@holdfast/protocol';

import { allAcquires, type View } from '../observation/view.ts';
import type { Client, Sent } from './client.ts';
import { payloadOf, sentAs } from './entry.ts';
import type { Move, MoveKind } from './move.ts';
import { BAD_LOCKS, BAD_PATHS, choose, LOCKS, PATHS, PERMITS, READ_WRITE, RESERVED_PATHS } from './pools.ts';

const UNKNOWN_SESSION = 1_000_000;
const MOST_DATA = 7;
/** One creation in sixty is of a mode that only a later version has. */
const UNKNOWN_MODE_PICK = 59;

/** From which state version on a transaction grants when all is gone that it takes away; before, a token could be given twice. */
const GRANTS_LAST = 4;

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
  'share',
  'several',
  'delayed',
  'downgrade',
] as const satisfies MoveKind[];

export function sentBy(move: Move, client: Client, view: View): Sent {
  switch (move.kind) {
    case 'malformed':
      return malformed(move);
    case 'acquire':
    case 'try':
      return payloadOf(acquire(move));
    case 'share':
      return payloadOf(share(move));
    case 'several':
      return payloadOf(several(move));
    case 'delayed':
      return payloadOf(delayed(move));
    case 'policy':
      return payloadOf(policy(move));
    case 'downgrade':
      return payloadOf({ type: 'downgrade', ...holdToDowngrade(move, client, view) });
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
      return payloadOf(revoke(move, view));
    case 'requestRelease':
      return payloadOf(requestRelease(move, view));
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
    case 'endDelay':
    case 'enforceRelease':
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

const SEMAPHORE_LIMIT = 4;

/** To read or to write, or some permits; mostly of the lock that is used so. One in ten counts on other permits, or on another kind. */
function share({ what, pick, flavour }: Move): Command {
  const wait = what % 6 !== 0;
  if (flavour === 9) {
    const odd = pick % 3;
    if (odd === 0) return acquireCommand(what % 2 === 0 ? PERMITS : READ_WRITE, MUTEX, wait);
    const limit = SEMAPHORE_LIMIT + (odd === 1 ? 1 : 0);
    // One permit more than there are can't be.
    return acquireCommand(PERMITS, { type: 'semaphore', permits: odd === 1 ? 1 : limit + 1, limit }, wait);
  }
  const lock = flavour < 6 ? READ_WRITE : PERMITS;
  return acquireCommand(lock, requestFor(lock, pick), wait);
}

/** Of the lock that all use so; one in three writes. */
function requestFor(lock: string, pick: number): LockRequest {
  if (lock === READ_WRITE) return { type: 'readWrite', write: pick % 3 === 0 };
  if (lock === PERMITS) return { type: 'semaphore', permits: 1 + (pick % 3), limit: SEMAPHORE_LIMIT };
  return MUTEX;
}

/** One to three that differ, in any order; now and then none, one twice, or a lock in another way. */
function several({ what, pick, flavour }: Move): Command {
  const names = [...LOCKS, READ_WRITE, PERMITS];
  const first = what % names.length;
  const turned = [...names.slice(first), ...names.slice(0, first)];
  const chosen = turned.filter((_, place) => place === 0 || place % 4 === pick % 4 || place === 1 + (flavour % 4));
  const wanted = chosen.slice(0, 1 + ((pick >> 1) % 3)).map((lock) => ({ lock, asked: requestFor(lock, pick) }));
  const wait = flavour % 4 !== 3;
  if (flavour < 8) return acquireSeveralCommand(wanted, wait);
  const [one] = wanted;
  if (one === undefined || pick % 4 === 0) return acquireSeveralCommand([], wait);
  if (pick % 4 === 1) return acquireSeveralCommand([...wanted, one], wait);
  const lock = pick % 4 === 2 ? choose(BAD_LOCKS, what) : one.lock;
  return acquireSeveralCommand([...wanted.slice(1), { lock, asked: requestFor(READ_WRITE, pick) }], wait);
}

/** Of one lock, now and then of two; one in five asks for no delay. */
function delayed({ what, pick, flavour }: Move): Command {
  const names = [...LOCKS, READ_WRITE, PERMITS];
  const chosen = [what % names.length, ...(flavour < 2 ? [(what + 1) % names.length] : [])];
  const wanted = chosen.flatMap((at) => names[at] ?? []).map((lock) => ({ lock, asked: requestFor(lock, pick) }));
  const lockDelayMs = choose([1_000, 5_000, 5_000, 60_000, 0], pick);
  const all = flavour === 9 ? [...wanted, ...wanted] : wanted;
  return acquireWithCommand(all, flavour % 4 !== 3, { lockDelayMs, abortInDeadlock: false });
}

/** Of one lock, now and then of two, to wait: ends in a deadlock, but for one in ten; one in three asks for a delay, too. */
function policy({ what, pick, flavour }: Move): Command {
  const names = [...LOCKS, READ_WRITE];
  const chosen = [what % names.length, ...(flavour < 2 ? [(what + 1) % names.length] : [])];
  const wanted = chosen.flatMap((at) => names[at] ?? []).map((lock) => ({ lock, asked: requestFor(lock, pick) }));
  const lockDelayMs = pick % 3 === 0 ? 1_000 : 0;
  return acquireWithCommand(wanted, true, { lockDelayMs, abortInDeadlock: flavour !== 9 });
}

/** Mostly its own that writes; else any of its own, another session's, or one that is gone. */
function holdToDowngrade(move: Move, client: Client, view: View): { lock: string; acquireIndex: number } {
  const { pick, flavour } = move;
  const own = allAcquires(view).filter(({ session }) => session === client.session);
  const writers = own.filter(({ lock, token }) => lock === READ_WRITE && token !== 0);
  const found = flavour < 6 ? choose(writers, pick) : flavour < 8 ? choose(own, pick) : undefined;
  if (found === undefined) return acquireToGiveUp(move, client, view);
  const { lock, acquireIndex } = found;
  return { lock, acquireIndex };
}

/** By its node or by name; now and then of another lock, or of one that cannot be; or a delay in its place. */
function revoke(move: Move, view: View): Command {
  const { what, pick, flavour } = move;
  if (flavour < 4) return { type: 'delete', path: queueNode(move, view), version: -1 };
  const inTheWay = choose([...view.delays], pick);
  if (flavour === 7 && inTheWay !== undefined)
    return { type: 'revoke', lock: inTheWay[0], acquireIndex: inTheWay[1].index };
  const { lock, acquireIndex } = choose(allAcquires(view), pick) ?? { lock: choose(LOCKS, what), acquireIndex: pick };
  if (flavour < 8) return { type: 'revoke', lock, acquireIndex };
  return { type: 'revoke', lock: flavour === 8 ? choose(LOCKS, what) : choose(BAD_LOCKS, what), acquireIndex };
}

/** Of somebody's hold; now and then of a wait, of another lock, or of one that cannot be. */
function requestRelease({ what, pick, flavour }: Move, view: View): Command {
  const all = allAcquires(view);
  const holds = all.filter(({ token }) => token !== 0);
  const { lock = choose(LOCKS, what), acquireIndex = pick } = choose(flavour < 7 ? holds : all, pick) ?? {};
  const named = flavour < 8 ? lock : flavour === 8 ? choose(LOCKS, what) : choose(BAD_LOCKS, what);
  return { type: 'requestRelease', lock: named, acquireIndex, withinMs: 1_000 * pick, revokes: pick % 2 === 0 };
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
  if (flavour === 8 && view.stateVersion >= GRANTS_LAST) return revocations(move, view);
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

/** Of one to three that are side by side, mostly in one queue: the next of them may be who is granted what the first had. */
function revocations({ what, pick }: Move, view: View): readonly Operation[] {
  const acquires = allAcquires(view);
  const first = acquires.length === 0 ? 0 : pick % acquires.length;
  return acquires
    .slice(first, first + 1 + (what % 3))
    .map((acquire): Operation => ({ type: 'delete', path: nodeOf(acquire, view), version: -1 }));
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
  return entry === undefined ? `${LOCKS_PATH}/${encodeLockName(choose(LOCKS, what))}` : nodeOf(entry, view);
}

function nodeOf(acquire: { readonly lock: string; readonly acquireIndex: number }, view: View): string {
  const container = `${LOCKS_PATH}/${encodeLockName(acquire.lock)}`;
  const name = view.nodes
    .get(container)
    ?.names.find((child) => view.nodes.get(`${container}/${child}`)?.stat.czxid === acquire.acquireIndex);
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
  const name = choose(
    [
      'acquire',
      'release',
      'cancel',
      'create',
      'set',
      'delete',
      'closeSession',
      'acquireSeveral',
      'downgrade',
      'revoke',
      'acquireWith',
      'requestRelease',
    ] as const,
    what,
  );
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
