/** Answers to commands. The state machine makes them, remembers them until they are acknowledged, and makes the same again for a retry. */

import type { ErrorCode } from './error-code.ts';
import { errorCodeFromWire, errorCodeToWire } from './error-code.ts';
import type { Packable, TupleReader } from './pack.ts';
import { MAX_LABEL_LENGTH, MAX_LOCK_NAME_LENGTH, MAX_MESSAGE_LENGTH, MAX_PATH_LENGTH } from './limits.ts';
import { MalformedError } from './malformed-error.ts';
import { readStat, statToTuple, type Stat } from './stat.ts';

/** Who holds a lock, as far as others may know. */
export interface Holder {
  readonly session: number;
  readonly label: string;
  readonly token: number;
  readonly acquireIndex: number;
}

/** One acquire of a session that waits or holds. */
export interface Acquire {
  readonly lock: string;
  readonly acquireIndex: number;
  /** 0 while it waits. */
  readonly token: number;
}

export type Reply =
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }
  /** closeSession, delete, release. */
  | { readonly type: 'done' }
  | { readonly type: 'created'; readonly path: string; readonly stat: Stat }
  | { readonly type: 'changed'; readonly stat: Stat }
  /** acquire: `token` 0 means that it waits; a `granted` event follows. A retry gets the present state of that wait. */
  | { readonly type: 'acquire'; readonly acquireIndex: number; readonly token: number }
  /** acquire that was not to wait, on a lock that is not free. */
  | { readonly type: 'lockHeld'; readonly holder: Holder }
  /** cancel: `token` is that of the hold which was given up, 0 when it had still waited. */
  | { readonly type: 'cancelled'; readonly token: number }
  | {
      readonly type: 'attached';
      readonly session: number;
      readonly generation: number;
      readonly timeoutMs: number;
      /** The last request number that was applied; 0 for none. */
      readonly lastApplied: number;
      /** Every wait and hold of the session, by acquire index. */
      readonly acquires: readonly Acquire[];
    };

const ReplyType = {
  error: 0,
  done: 1,
  created: 2,
  changed: 3,
  acquire: 4,
  lockHeld: 5,
  cancelled: 6,
  attached: 7,
} as const;

export function replyToTuple(reply: Reply): Packable[] {
  switch (reply.type) {
    case 'error':
      return [ReplyType.error, errorCodeToWire(reply.code), reply.message.slice(0, MAX_MESSAGE_LENGTH)];
    case 'done':
      return [ReplyType.done];
    case 'created':
      return [ReplyType.created, reply.path, statToTuple(reply.stat)];
    case 'changed':
      return [ReplyType.changed, statToTuple(reply.stat)];
    case 'acquire':
      return [ReplyType.acquire, reply.acquireIndex, reply.token];
    case 'lockHeld':
      return [ReplyType.lockHeld, holderToTuple(reply.holder)];
    case 'cancelled':
      return [ReplyType.cancelled, reply.token];
    case 'attached':
      return [
        ReplyType.attached,
        reply.session,
        reply.generation,
        reply.timeoutMs,
        reply.lastApplied,
        reply.acquires.map((acquire) => [acquire.lock, acquire.acquireIndex, acquire.token]),
      ];
  }
}

/** @throws MalformedError */
export function readReply(reader: TupleReader): Reply {
  const type = reader.integer('type');
  switch (type) {
    case ReplyType.error: {
      // A code of a newer server: what it says is still told, and nothing is promised about it.
      const code = errorCodeFromWire(reader.integer('code')) ?? 'UNSUPPORTED';
      return { type: 'error', code, message: reader.string('message', MAX_MESSAGE_LENGTH) };
    }
    case ReplyType.done:
      return { type: 'done' };
    case ReplyType.created:
      return {
        type: 'created',
        path: reader.string('path', MAX_PATH_LENGTH + 32),
        stat: readStat(reader.tuple('stat')),
      };
    case ReplyType.changed:
      return { type: 'changed', stat: readStat(reader.tuple('stat')) };
    case ReplyType.acquire:
      return { type: 'acquire', acquireIndex: reader.integer('acquireIndex'), token: reader.integer('token') };
    case ReplyType.lockHeld:
      return { type: 'lockHeld', holder: readHolder(reader.tuple('holder')) };
    case ReplyType.cancelled:
      return { type: 'cancelled', token: reader.integer('token') };
    case ReplyType.attached:
      return {
        type: 'attached',
        session: reader.integer('session'),
        generation: reader.integer('generation'),
        timeoutMs: reader.integer('timeoutMs'),
        lastApplied: reader.integer('lastApplied'),
        acquires: reader.list('acquires', readAcquire),
      };
    default:
      throw new MalformedError(`reply type ${type} is unknown`);
  }
}

export function holderToTuple(holder: Holder): Packable[] {
  return [holder.session, holder.label, holder.token, holder.acquireIndex];
}

export function readHolder(reader: TupleReader): Holder {
  return {
    session: reader.integer('session'),
    label: reader.string('label', MAX_LABEL_LENGTH),
    token: reader.integer('token'),
    acquireIndex: reader.integer('acquireIndex'),
  };
}

function readAcquire(reader: TupleReader): Acquire {
  return {
    lock: reader.string('lock', MAX_LOCK_NAME_LENGTH),
    acquireIndex: reader.integer('acquireIndex'),
    token: reader.integer('token'),
  };
}
