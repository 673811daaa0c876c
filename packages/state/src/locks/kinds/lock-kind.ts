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

/** Those who hold the lock now, or some of them, in the order in which they asked for it. */
export interface Holders<R> extends Iterable<{ readonly request: R }> {
  readonly size: number;
  /** Of all their requests together. */
  readonly weight: number;
  readonly first: { readonly request: R } | undefined;
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
  /** Whether others may hold the lock beside one who holds it by that request. @default never */
  isShared(request: R): boolean;
  /** What a request adds to the weight of the holders, by which `mayJoin` need not look at each. @default 1 */
  weight(request: R): number;
  /** What no lock can fulfil about a request that is well-formed. @default nothing */
  problem(request: R): string | undefined;
  /** Why a request can't be of the lock of which `present` is another request; to be read behind the lock's name. @default for no reason */
  disagreement(present: R, request: R): string | undefined;
  /** The request that was read last. Kept by {@link readRequest}. */
  lastRead: ReadRequest<R> | undefined;
  /** What a hold becomes that takes less of the lock; of the same weight. Undefined where there is less of nothing. @default nothing */
  downgraded(request: R): R | undefined;
}

/** A request and what it was read from: mostly the next one is the same, and need not be checked and packed anew. */
interface ReadRequest<R = LockRequest> {
  readonly parameters: readonly Packable[];
  readonly request: R;
  /** As {@link packRequest} returns it. */
  readonly packed: Uint8Array | undefined;
}

/** In what a kind may differ. */
type KindRules<R> = Pick<LockKind<R>, 'since' | 'mayJoin'> &
  Partial<Pick<LockKind<R>, 'isShared' | 'weight' | 'problem' | 'disagreement' | 'downgraded'>>;

type RequestOf<N extends LockRequest['type']> = Extract<LockRequest, { readonly type: N }>;

/** The kind that the protocol declares by that name. */
export function lockKind<N extends LockRequest['type']>(
  name: N,
  rules: KindRules<RequestOf<N>>,
): LockKind<RequestOf<N>> {
  const read = (parameters: TupleReader): RequestOf<N> => lockKinds.readFields(name, parameters) as RequestOf<N>;
  return {
    name,
    number: lockKinds.numbers[name],
    plain: plainOf(read),
    read,
    write: (request) => lockKinds.writeFields(request),
    isShared: () => false,
    weight: () => 1,
    problem: () => undefined,
    disagreement: () => undefined,
    downgraded: () => undefined,
    lastRead: undefined,
    ...rules,
  };
}

/** What parameters as they came ask for. @throws MalformedError */
export function readRequest(kind: LockKind, parameters: readonly Packable[]): LockRequest {
  if (parameters.length === 0 && kind.plain !== undefined) return kind.plain;
  const { lastRead } = kind;
  if (lastRead !== undefined && areSame(lastRead.parameters, parameters)) return lastRead.request;
  const request = unpackRequest(kind, pack(parameters));
  kind.lastRead = { parameters, request, packed: packParameters(kind, request) };
  return request;
}

/** By identity where they are not plain values: what was read from bytes is never changed. */
function areSame(left: readonly Packable[], right: readonly Packable[]): boolean {
  return left.length === right.length && left.every((value, at) => Object.is(value, right[at]));
}

/** The same, of their bytes. @throws MalformedError */
export function unpackRequest(kind: LockKind, parameters: Uint8Array): LockRequest {
  const what = `a request for a lock of kind ${kind.name}`;
  const reader = unpackTuple(parameters, what);
  const request = kind.read(reader);
  if (reader.remaining > 0) throw new MalformedError(`${what} has ${reader.remaining} parameters too many`);
  const problem = kind.problem(request);
  if (problem !== undefined) throw new MalformedError(`${what} can't be fulfilled: ${problem}`);
  return request;
}

/** As they are kept; undefined for a request without any, which takes no room. */
export function packRequest(kind: LockKind, request: LockRequest): Uint8Array | undefined {
  if (request === kind.plain) return undefined;
  return request === kind.lastRead?.request ? kind.lastRead.packed : packParameters(kind, request);
}

function packParameters(kind: LockKind, request: LockRequest): Uint8Array | undefined {
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
