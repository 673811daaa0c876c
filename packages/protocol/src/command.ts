/**
 * The commands that go through the log, and the bytes of their payloads. The client encodes a payload once; the same bytes go
 * into the log and to every server, and are decoded once, where they are applied. A type's number and tuple never change; what a
 * later version adds gets a new type.
 */

import { MalformedError } from './malformed-error.ts';
import { MAX_DATA_BYTES, MAX_LOCK_NAME_LENGTH, MAX_PATH_LENGTH, SECRET_HASH_BYTES } from './limits.ts';
import { exactBytes, readWish } from './attach-request.ts';
import { pack, unpackTuple, type TupleReader } from './pack.ts';

/** Numbers 1–63 come from clients, 64–127 from the leader alone. */
export const CommandType = {
  attach: 1,
  closeSession: 2,
  create: 3,
  set: 4,
  delete: 5,
  acquire: 6,
  release: 7,
  cancel: 8,
  expireSession: 64,
  refuse: 65,
  raiseStateVersion: 66,
  continueEnd: 67,
} as const;

export type CommandName = keyof typeof CommandType;

/** Which rule decides who may hold; fixed while the lock's container exists. */
export const LockKind = { mutex: 0 } as const;
export type LockKindNumber = (typeof LockKind)[keyof typeof LockKind];
/** No version will have a higher one: a snapshot keeps it in a byte. */
export const MAX_LOCK_KIND = 255;

export type Command =
  /**
   * Creates the session of a secret, or attaches to it if it exists; either way its generation rises and requests that came
   * through earlier attachments are refused from now on. Made by the server that takes a client's {@link AttachRequest}.
   */
  | {
      readonly type: 'attach';
      readonly secretHash: Uint8Array;
      /** 0 creates if need be; otherwise the session that must still exist. */
      readonly session: number;
      readonly timeoutMs: number;
      readonly label: string;
    }
  /** Ends a session with all its nodes, holds and waits. `session` 0 is the sender's own; another's is an operator's forced close. */
  | { readonly type: 'closeSession'; readonly session: number }
  | {
      readonly type: 'create';
      readonly path: string;
      readonly data: Uint8Array;
      readonly ephemeral: boolean;
      readonly sequential: boolean;
    }
  /** `version` −1 matches any. */
  | { readonly type: 'set'; readonly path: string; readonly data: Uint8Array; readonly version: number }
  | { readonly type: 'delete'; readonly path: string; readonly version: number }
  /**
   * Enqueues and grants, or enqueues and waits, or (`wait` false) leaves nothing when the lock is not free. `kind` may be one of a later
   * version, up to {@link MAX_LOCK_KIND}: who applies the command knows which there are.
   */
  | { readonly type: 'acquire'; readonly lock: string; readonly kind: number; readonly wait: boolean }
  /** Gives up a hold. A wait is not a hold: NOT_HELD. */
  | { readonly type: 'release'; readonly lock: string; readonly acquireIndex: number }
  /** Ends a wait, or the hold that it has become; the reply says which. */
  | { readonly type: 'cancel'; readonly lock: string; readonly acquireIndex: number }
  /** The leader's: the session's time is over. Re-checked by generation, so that a session re-attached meanwhile lives. */
  | { readonly type: 'expireSession'; readonly session: number; readonly generation: number }
  /**
   * The leader's, in the place of a session's request that it does not take, with the request's own number: uses up the number and
   * answers DISK_FULL, so that what the session asks for next is not held up. `server`: whose disk is almost full.
   */
  | { readonly type: 'refuse'; readonly server: number }
  /** The leader's, when every member can: entries are applied as `version` says from here on. Never lowers it. */
  | { readonly type: 'raiseStateVersion'; readonly version: number }
  /** The leader's: a session that is ending, with more nodes than one entry removes, loses some more of them. */
  | { readonly type: 'continueEnd'; readonly session: number };

const typeNames = new Map<number, CommandName>(
  (Object.keys(CommandType) as CommandName[]).map((name) => [CommandType[name], name]),
);

/** Undefined for a type that this version does not know. */
export function commandName(type: number): CommandName | undefined {
  return typeNames.get(type);
}

/** True for the types that a server takes from a client. One that nobody knows is answered UNSUPPORTED where it is applied. */
export function isClientCommand(type: number): boolean {
  return Number.isInteger(type) && type >= 1 && type < 64;
}

export function encodeCommand(command: Command): Uint8Array {
  switch (command.type) {
    case 'attach':
      return pack([command.secretHash, command.session, command.timeoutMs, command.label]);
    case 'closeSession':
    case 'continueEnd':
      return pack([command.session]);
    case 'create':
      return pack([command.path, command.data, command.ephemeral, command.sequential]);
    case 'set':
      return pack([command.path, command.data, command.version]);
    case 'delete':
      return pack([command.path, command.version]);
    case 'acquire':
      return pack([command.lock, command.kind, command.wait]);
    case 'release':
    case 'cancel':
      return pack([command.lock, command.acquireIndex]);
    case 'expireSession':
      return pack([command.session, command.generation]);
    case 'refuse':
      return pack([command.server]);
    case 'raiseStateVersion':
      return pack([command.version]);
  }
}

/**
 * Of a payload that is all there is from `start` on. Fields behind those that are known are refused: a server that skipped what another
 * applies would have another state.
 *
 * @throws MalformedError when it is not the type's tuple, or breaks a limit
 */
export function decodeCommand(name: CommandName, bytes: Uint8Array, start = 0): Command {
  const reader = unpackTuple(bytes, name, start);
  const command = readCommand(name, reader);
  if (reader.remaining > 0) throw new MalformedError(`${name} has ${reader.remaining} fields too many`);
  return command;
}

function readCommand(name: CommandName, reader: TupleReader): Command {
  switch (name) {
    case 'attach':
      return readAttach(reader);
    case 'closeSession':
    case 'continueEnd':
      return { type: name, session: reader.integer('session') };
    case 'create':
      return {
        type: name,
        path: reader.string('path', MAX_PATH_LENGTH),
        data: reader.bytes('data', MAX_DATA_BYTES),
        ephemeral: reader.boolean('ephemeral'),
        sequential: reader.boolean('sequential'),
      };
    case 'set':
      return {
        type: name,
        path: reader.string('path', MAX_PATH_LENGTH),
        data: reader.bytes('data', MAX_DATA_BYTES),
        version: reader.signed('version'),
      };
    case 'delete':
      return { type: name, path: reader.string('path', MAX_PATH_LENGTH), version: reader.signed('version') };
    case 'acquire':
      return {
        type: name,
        lock: reader.string('lock', MAX_LOCK_NAME_LENGTH),
        kind: readKind(reader),
        wait: reader.boolean('wait'),
      };
    case 'release':
    case 'cancel':
      return {
        type: name,
        lock: reader.string('lock', MAX_LOCK_NAME_LENGTH),
        acquireIndex: reader.integer('acquireIndex'),
      };
    case 'expireSession':
      return { type: name, session: reader.integer('session'), generation: reader.integer('generation') };
    case 'refuse':
      return { type: name, server: reader.integer('server') };
    case 'raiseStateVersion':
      return { type: name, version: reader.integer('version') };
  }
}

function readAttach(reader: TupleReader): Command {
  return { type: 'attach', secretHash: exactBytes(reader, 'secretHash', SECRET_HASH_BYTES), ...readWish(reader) };
}

function readKind(reader: TupleReader): number {
  const kind = reader.integer('kind');
  if (kind > MAX_LOCK_KIND) throw new MalformedError(`acquire.kind must be at most ${MAX_LOCK_KIND}`);
  return kind;
}
