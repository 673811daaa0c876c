/**
 * The commands that go through the log, and the bytes of their payloads. The client encodes a payload once; the same bytes go
 * into the log and to every server, and are decoded once, where they are applied. A type's number and tuple never change; what a
 * later version adds gets a new type.
 */

import { attachWish } from './attach-request.ts';
import { MAX_CREATE_MODE } from './create-mode.ts';
import { creation, dataChange, operationList } from './operation.ts';
import {
  MAX_DATA_BYTES,
  MAX_LOCK_DELAY_MS,
  MAX_LOCK_NAME_LENGTH,
  MAX_LOCK_PARAMETERS_BYTES,
  MAX_LOCKS_AT_ONCE,
  MAX_PATH_LENGTH,
  MAX_RELEASE_WITHIN_MS,
  MAX_REMOVALS_PER_ENTRY,
  SECRET_HASH_BYTES,
} from '../limits.ts';
import { MalformedError } from '../malformed-error.ts';
import { pack, unpackTuple } from '../pack.ts';
import { shortList } from '../schema/bounded.ts';
import {
  bytes,
  exactBytes,
  flag,
  integer,
  integerWithin,
  record,
  signed,
  text,
  type ValueOf,
} from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';
import { openTuple } from '../schema/open-tuple.ts';

/** No version has a kind of lock with a higher number: a snapshot keeps it in a byte. */
export const MAX_LOCK_KIND = 255;

const path = text(MAX_PATH_LENGTH);
const data = bytes(MAX_DATA_BYTES);
const lock = text(MAX_LOCK_NAME_LENGTH);

/**
 * A lock that an acquire asks for. `kind` may be one of a later version, up to {@link MAX_LOCK_KIND}: who applies the command knows which
 * there are, and reads `parameters`, which are that kind's.
 */
const wantedFields = {
  lock,
  kind: integerWithin(0, MAX_LOCK_KIND),
} as const;
const parameters = openTuple(MAX_LOCK_PARAMETERS_BYTES);
const wantedLock = record({ ...wantedFields, parameters });

export interface WantedLock extends ValueOf<typeof wantedLock> {}

/** `mzxid`: of the change since which it has been too long, for a node with a time to live; 0 for a container. */
const unusedNode = record({ path, czxid: integer(), mzxid: integer() });

/** A node that the leader found to be unused. */
export interface UnusedNode extends ValueOf<typeof unusedNode> {}

/** Numbers 1–63 come from clients, 64–127 from the leader alone. */
export const commands = messages('command', {
  /**
   * Creates the session of a secret, or attaches to it if it exists; either way its generation rises and requests that came
   * through earlier attachments are refused from now on. Made by the server that takes a client's {@link AttachRequest}.
   */
  attach: message(1, { secretHash: exactBytes(SECRET_HASH_BYTES), ...attachWish }),
  /** Ends a session with all its nodes, holds and waits. `session` 0 is the sender's own; another's is an operator's forced close. */
  closeSession: message(2, { session: integer() }),
  /** `mode` may be one of a later version, up to {@link MAX_CREATE_MODE}: who applies the command knows which there are. */
  create: message(3, { path, data, mode: integerWithin(0, MAX_CREATE_MODE) }),
  /** `version` −1 matches any. */
  set: message(4, { path, data, version: signed() }),
  delete: message(5, { path, version: signed() }),
  /** Enqueues and grants, or enqueues and waits, or (`wait` false) leaves nothing when the lock is not free. */
  acquire: message(6, { ...wantedFields, wait: flag(), parameters }),
  /** Gives up a hold. A wait is not a hold: NOT_HELD. */
  release: message(7, { lock, acquireIndex: integer() }),
  /** Ends a wait, or the hold that it has become; the reply says which. */
  cancel: message(8, { lock, acquireIndex: integer() }),
  /** All of its operations or none, in one entry. At most {@link MAX_TRANSACTION_BYTES} as a payload. */
  transaction: message(9, { operations: operationList }),
  /** As `create`, of every mode and with or without data. */
  createNode: message(10, creation),
  /** As `set`, with or without data. */
  setNode: message(11, dataChange),
  /** A hold to write becomes one to read, under the same token. */
  downgrade: message(12, { lock, acquireIndex: integer() }),
  /**
   * As `acquire`, of all these locks or none: one acquire index, one grant, one token. Whatever names such an acquire later names one of its
   * locks, and means all of them.
   */
  acquireSeveral: message(13, { locks: shortList(MAX_LOCKS_AT_ONCE, wantedLock, 'lock'), wait: flag() }),
  /**
   * An operator's: takes a hold or wait away, whoever has it, as the deletion of its node does. The answer has an index above the token that is
   * revoked, so that a resource that is told of it refuses that token from then on. Named by the index of a lock's delay, it ends that delay.
   */
  revoke: message(14, { lock, acquireIndex: integer() }),
  /**
   * As `acquireSeveral`, of one lock or several, with what is to happen later. `lockDelayMs`: when the hold is lost, by the end of its session
   * or by a revocation, the next grant of each of its locks waits so long. `abortInDeadlock`: the wait ends when it is in a deadlock.
   */
  acquireWith: message(15, {
    locks: shortList(MAX_LOCKS_AT_ONCE, wantedLock, 'lock'),
    wait: flag(),
    lockDelayMs: integerWithin(0, MAX_LOCK_DELAY_MS),
    abortInDeadlock: flag(),
  }),
  /**
   * An operator's: asks whoever has that hold to release it within that time. `revokes`: it is revoked when it is still there then. A later
   * request takes the place of an earlier one.
   */
  requestRelease: message(16, {
    lock,
    acquireIndex: integer(),
    withinMs: integerWithin(0, MAX_RELEASE_WITHIN_MS),
    revokes: flag(),
  }),
  /** The leader's: the session's time is over. Re-checked by generation, so that a session re-attached meanwhile lives. */
  expireSession: message(64, { session: integer(), generation: integer() }),
  /**
   * The leader's, in the place of a session's request that it does not take, with the request's own number: uses up the number and
   * answers DISK_FULL, so that what the session asks for next is not held up. `server`: whose disk is almost full.
   */
  refuse: message(65, { server: integer() }),
  /** The leader's, when every member can: entries are applied as `version` says from here on. Never lowers it. */
  raiseStateVersion: message(66, { version: integer() }),
  /** The leader's: a session that is ending, with more nodes than one entry removes, loses some more of them. */
  continueEnd: message(67, { session: integer() }),
  /** The leader's: containers that are empty again, and nodes whose time to live is over. Each is checked again where it is applied. */
  removeUnused: message(68, { nodes: shortList(MAX_REMOVALS_PER_ENTRY, unusedNode, 'node') }),
  /** The leader's: the delay of a lock is over. `index`: of the entry that began it, or prolonged it last; checked again where it is applied. */
  endLockDelay: message(69, { lock, index: integer() }),
  /**
   * The leader's: the time of a request to release that hold is over. `request`: the index of the entry that has made it, by which it is
   * checked again where it is applied.
   */
  enforceRelease: message(70, { lock, acquireIndex: integer(), request: integer() }),
});

export type Command = ValueOf<typeof commands>;
export type CommandName = Command['type'];

export const CommandType = commands.numbers;

/** Undefined for a type that this version does not know. */
export function commandName(type: number): CommandName | undefined {
  return commands.nameOf(type);
}

/** True for the types that a server takes from a client. One that nobody knows is answered UNSUPPORTED where it is applied. */
export function isClientCommand(type: number): boolean {
  return Number.isInteger(type) && type >= 1 && type < 64;
}

export function encodeCommand(command: Command): Uint8Array {
  return pack(commands.writeFields(command));
}

/**
 * Of a payload that is all there is from `start` on. Fields behind those that are known are refused: a server that skipped what another
 * applies would have another state.
 *
 * @throws MalformedError when it is not the type's tuple, or breaks a limit
 */
export function decodeCommand(name: CommandName, payload: Uint8Array, start = 0): Command {
  const reader = unpackTuple(payload, name, start);
  const command = commands.readFields(name, reader);
  if (reader.remaining > 0) throw new MalformedError(`${name} has ${reader.remaining} fields too many`);
  return command;
}
