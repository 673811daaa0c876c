/**
 * The options of calls, looked at where TypeScript does not see them: an `ifrevision` that nobody reads would be a write without a
 * condition, and a value that is a number would be written as so many zero bytes. What is in range is for the store to say.
 */

import { optionNamesProblem } from '@holdfast/runtime';

import type {
  BatchWrite,
  CallOptions,
  ChangesOptions,
  CreateOptions,
  Held,
  ListOptions,
  PutOptions,
  WriteOptions,
} from './bucket-types.ts';
import { FencedKvError } from './errors.ts';
import type { FollowOptions } from './follow-group.ts';
import type { FencedKvOptions } from './transport.ts';

/** What the value of an option is. */
interface Kind {
  readonly is: string;
  readonly holds: (value: unknown) => boolean;
}

/** Each option that there is. Undefined is an option that is not there. */
type Kinds<T> = { readonly [Name in keyof T]-?: Kind };

const TEXT: Kind = { is: 'text', holds: (value) => typeof value === 'string' };
const FUNCTION: Kind = { is: 'a function', holds: (value) => typeof value === 'function' };
const SIGNAL: Kind = { is: 'an AbortSignal', holds: (value) => value instanceof EventTarget && 'aborted' in value };
const DURATION: Kind = {
  is: 'a number of milliseconds above 0',
  holds: (value) => typeof value === 'number' && value > 0,
};
const POSITIVE: Kind = { is: 'an integer of at least 1', holds: (value) => isInteger(value, 1) };
const REVISION: Kind = { is: 'a revision: an integer of at least 0', holds: (value) => isInteger(value, 0) };
const CONDITION: Kind = {
  is: 'a revision, or null where the key must be absent',
  holds: (value) => value === null || isInteger(value, 1),
};
const POLICY: Kind = {
  is: '"required" or "optional"',
  holds: (value) => value === 'required' || value === 'optional',
};
const GROUP: Kind = {
  is: 'the name of a group: letters, digits, dots, dashes and underscores',
  holds: (value) => typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value),
};
const WHOLE_VALUE: Kind = {
  is: 'text or a Uint8Array',
  holds: (value) => typeof value === 'string' || value instanceof Uint8Array,
};

const FOLLOW: Kind = {
  is: 'an object with the nodes of a Holdfast client and the group',
  holds: (value) => typeof value === 'object' && value !== null,
};
const NODES: Kind = {
  is: 'the nodes of a Holdfast client: client.nodes',
  holds: (value) =>
    typeof value === 'object' && value !== null && ['get', 'children', 'watch'].every((name) => name in value),
};

export const CLIENT_OPTIONS: Kinds<FencedKvOptions> = { fetch: FUNCTION, timeoutMs: DURATION, follow: FOLLOW };
const FOLLOW_OPTIONS: Kinds<FollowOptions> = { nodes: NODES, group: GROUP };
export const CALL_OPTIONS: Kinds<CallOptions> = { signal: SIGNAL };
export const WRITE_OPTIONS: Kinds<WriteOptions> = { ifRevision: CONDITION, ...CALL_OPTIONS };
export const PUT_OPTIONS: Kinds<PutOptions> = { ttlMs: POSITIVE, ...WRITE_OPTIONS };
export const CREATE_OPTIONS: Kinds<CreateOptions> = { tokens: POLICY, lock: TEXT, ...CALL_OPTIONS };
export const LIST_OPTIONS: Kinds<ListOptions> = { prefix: TEXT, after: TEXT, limit: POSITIVE, ...CALL_OPTIONS };
export const CHANGES_OPTIONS: Kinds<ChangesOptions> = { from: REVISION, ...CALL_OPTIONS };

const OPERATION: Kind = { is: '"put" or "delete"', holds: (value) => value === 'put' || value === 'delete' };
const BATCH_DELETE: Kinds<Extract<BatchWrite, { op: 'delete' }>> = { op: OPERATION, key: TEXT, ifRevision: CONDITION };
const BATCH_PUT: Kinds<Extract<BatchWrite, { op: 'put' }>> = { ...BATCH_DELETE, value: WHOLE_VALUE, ttlMs: POSITIVE };

/** @throws FencedKvError INVALID_ARGUMENT that names the wrong option and the right one, or what its value is to be */
export function checkOptions<T>(what: string, options: T, kinds: Kinds<T>): void {
  const given: unknown = options;
  const problem = optionNamesProblem(what, given, kinds);
  if (problem !== undefined) throw invalid(problem);
  for (const name in kinds) {
    const value = options[name];
    if (value !== undefined && !kinds[name].holds(value)) {
      throw invalid(`${what}: ${name} is ${kinds[name].is}; it was given ${describe(value)}`);
    }
  }
}

/** Both are needed. @throws FencedKvError INVALID_ARGUMENT */
export function checkFollow(what: string, follow: FollowOptions): void {
  checkOptions(what, follow, FOLLOW_OPTIONS);
  if (follow.nodes === undefined) throw invalid(`${what}: nodes is ${NODES.is}, and there is none`);
  if (follow.group === undefined) throw invalid(`${what}: group is ${GROUP.is}, and there is none`);
}

/** @throws FencedKvError INVALID_ARGUMENT */
export function checkValue(what: string, value: unknown): void {
  if (WHOLE_VALUE.holds(value) || value instanceof ReadableStream) return;
  throw invalid(`${what}: a value is ${WHOLE_VALUE.is} or a ReadableStream of these; it was given ${describe(value)}`);
}

/** @throws FencedKvError INVALID_ARGUMENT */
export function checkWrites(writes: readonly BatchWrite[]): void {
  if (!Array.isArray(writes)) throw invalid(`batch takes an array of writes; it was given ${describe(writes)}`);
  for (const [index, write] of writes.entries()) {
    const where = `batch: writes[${index}]`;
    if (write?.op === 'delete') {
      checkOptions(where, write, BATCH_DELETE);
    } else {
      checkOptions(where, write, BATCH_PUT);
      // What has neither is to be told so, and not that it has no value.
      if (write.op === undefined) throw invalid(`${where}: op is ${OPERATION.is}`);
      if (write.value === undefined) throw invalid(`${where}: value is ${WHOLE_VALUE.is}, and there is none`);
    }
    if (write.key === undefined) throw invalid(`${where}: key is ${TEXT.is}, and there is none`);
  }
}

/** @throws FencedKvError INVALID_ARGUMENT */
export function checkHeld(held: Held): void {
  const given: unknown = held;
  const token = typeof given === 'object' && given !== null && 'token' in given ? given.token : undefined;
  if (isInteger(token, 1)) return;
  throw invalid(
    `fencedBy takes a held lock, or an object with its token, an integer of at least 1; the token is ${describe(token)}`,
  );
}

function isInteger(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= least;
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return typeof value === 'object' && value !== null ? `a ${value.constructor?.name ?? 'null'}` : String(value);
}

function invalid(message: string): FencedKvError {
  return new FencedKvError('INVALID_ARGUMENT', message);
}
