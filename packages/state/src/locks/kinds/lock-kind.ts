/**
 * What sets one kind of lock apart from the others. A kind is one file beside this one and one line in `lock-kinds.ts`, and its requests
 * are declared in the protocol (`lockKinds`); queues, tokens, snapshots and sessions are the same for all kinds, and ask the kind where they
 * are not.
 */

import {
  lockKinds,
  MalformedError,
  pack,
  unpackTuple,
  type LockRequest,
  type Packable,
  type TupleReader,
} from '@holdfast/protocol';

/** Those who hold the lock now, in the order in which they asked for it. */
interface Holders<R> extends Iterable<{ readonly request: R }> {
  readonly size: number;
  readonly first: { readonly request: R } | undefined;
  /** The shares of all of them. */
  readonly taken: number;
}

export interface LockKind<R = LockRequest> {
  /** For listings and messages. */
  readonly name: string;
  /** What stands for it in commands and snapshots; from 0 to MAX_LOCK_KIND. */
  readonly number: number;
  /** The state version from which on it exists. */
  readonly since: number;
  /** What is asked for without parameters; undefined for a kind that needs some. */
  readonly plain: R | undefined;
  /** @throws MalformedError for parameters that are not the kind's */
  read(parameters: TupleReader): R;
  write(request: R): readonly Packable[];
  /**
   * Whether the request at the head of the queue may hold beside the present holders. Must not become false by a holder's leaving, and
   * holds of whoever holds alone. The queue's order is not its business: nobody overtakes a request that has to wait.
   */
  mayJoin(holders: Holders<R>, request: R): boolean;
  /**
   * How much of the lock a holder takes. Only of kinds that several may hold at once: their holders have a floor, the lowest token of all.
   */
  readonly share?: (request: R) => number;
  /**
   * What all requests for one lock have in common while it is in use, and this one has not; undefined where it has. In words that go on
   * "the lock is in use".
   */
  clash?(inUse: R, request: R): string | undefined;
  /** Why a hold may not become that; undefined where it may. Never anything that could have to wait. */
  conversionProblem?(held: R, request: R): string | undefined;
  /** How often the hold may be entered by such a request of its session: 0 where it is another's. Others wait, this one does not. */
  maxEntries?(held: R, request: R): number;
}

type Rules<R> = Omit<LockKind<R>, 'name' | 'number' | 'plain' | 'read' | 'write'> & {
  /** What is wrong with a request whose fields are good one by one. */
  readonly problem?: (request: R) => string | undefined;
};

/** The kind that the protocol declares by that name. */
export function lockKind<N extends LockRequest['type']>(
  name: N,
  { problem, ...rules }: Rules<Extract<LockRequest, { readonly type: N }>>,
): LockKind {
  type R = Extract<LockRequest, { readonly type: N }>;
  const read = (parameters: TupleReader): R => {
    const request = lockKinds.readFields(name, parameters) as R;
    const wrong = problem?.(request);
    if (wrong !== undefined) throw new MalformedError(wrong);
    return request;
  };
  const kind: LockKind<R> = {
    name,
    number: lockKinds.numbers[name],
    plain: plainOf(read),
    read,
    write: (request) => lockKinds.writeFields(request),
    ...rules,
  };
  // Whoever has a request has read it by this kind.
  return kind as unknown as LockKind;
}

/** What parameters as they came ask for. @throws MalformedError */
export function readRequest(kind: LockKind, parameters: readonly Packable[]): LockRequest {
  if (parameters.length === 0 && kind.plain !== undefined) return kind.plain;
  return unpackRequest(kind, pack(parameters));
}

/** The same, of their bytes. @throws MalformedError */
export function unpackRequest(kind: LockKind, parameters: Uint8Array): LockRequest {
  const what = `a request for a lock of kind ${kind.name}`;
  const reader = unpackTuple(parameters, what);
  const request = kind.read(reader);
  if (reader.remaining > 0) throw new MalformedError(`${what} has ${reader.remaining} parameters too many`);
  return request;
}

/** As they are kept; undefined for a request without any, which takes no room. */
export function packRequest(kind: LockKind, request: LockRequest): Uint8Array | undefined {
  if (request === kind.plain) return undefined;
  const parameters = kind.write(request);
  return parameters.length === 0 ? undefined : pack(parameters);
}

function plainOf<R>(read: (parameters: TupleReader) => R): R | undefined {
  try {
    return read(unpackTuple(pack([]), 'no parameters'));
  } catch (error) {
    if (error instanceof MalformedError) return undefined;
    throw error;
  }
}
