/**
 * The replicated state machine: applies committed entries in index order and says what each did. Pure: machines that applied the
 * same entries have the same state, gave the same outputs and have equal digests. Sending, time and leases are the server's.
 */

import {
  errorCodeToWire,
  MAX_INDEX,
  type Acquire,
  type Answer,
  type CommandName,
  type FeatureSet,
  type Query,
  type ReleaseRequest,
  type Reply,
} from '@holdfast/protocol';

import { attach } from './commands/attach.ts';
import { applyClientCommand } from './commands/client-command.ts';
import { transaction } from './commands/nodes/transaction.ts';
import { breakDeadlocks } from './commands/break-deadlocks.ts';
import { endLockDelay } from './commands/end-lock-delay.ts';
import { continueEnd, endEverySession, expireSession } from './commands/end-session.ts';
import { enforceRelease } from './commands/release-requests.ts';
import { removeUnused } from './commands/remove-unused.ts';
import { presentReply } from './commands/locks.ts';
import { commandOrError, decodeEntry, type DecodedEntry } from './entries/decoded-entry.ts';
import type { StampedHeader } from './entries/entry.ts';
import { invariant } from './invariant.ts';
import type { StateLimits } from './limits.ts';
import type { Output, RefusalCode } from './output.ts';
import {
  lockDelays,
  lockHolds,
  sessionHolds,
  type HeldPlace,
  type LockHolds,
  type PendingDelay,
} from './queries/holds.ts';
import { answerQuery, prepareQuery } from './queries/query.ts';
import type { CachedReply } from './sessions/answer-cost.ts';
import { sessionInfo, type SessionInfo } from './sessions/session-info.ts';
import { hashKey } from './sessions/session-table.ts';
import type { Session } from './sessions/session.ts';
import { unsupportedReply } from './replies.ts';
import { StateRestore } from './snapshot/state-restore.ts';
import { StateSnapshot } from './snapshot/state-snapshot.ts';
import { State, type StateCounts, type StateOptions } from './state.ts';
import { ChangeFeed, type NodeListener } from './tree/change-feed.ts';
import type { HashKey } from './tree/storage/keyed-hash.ts';
import { limitedNode, type LimitedNode } from './tree/limited-node.ts';
import type { NodeSlot } from './tree/node-slot.ts';
import type { TreeLookup } from './tree/node-store.ts';
import { VERSIONS, type Versions } from './versions.ts';

/** What the digest takes for an entry's result: 0 for success, an error's wire code, this for a refusal plus its wire code. */
const REFUSED = 1_000;
const NOOP = 2_000;
/** What the digest takes for an answer from the reply cache. */
const REPEATED = 3_000;

export interface StateMachineOptions {
  /** In the places of those of every version. Must be the same on every server. @default none */
  readonly limits?: Partial<StateLimits>;
  /**
   * Where nodes are looked for. Shows in nothing, so it may differ between servers, and should be a secret of each: who knows it can
   * choose names that make every search of a node long. @default one that everybody knows
   */
  readonly hashKey?: HashKey;
  /** What exists from which state version on. @default the product's table */
  readonly versions?: Versions;
}

/** A hold that somebody has asked for. */
export interface RequestedRelease {
  readonly session: number;
  /** The first of its locks, in order of names. */
  readonly lock: string;
  readonly acquireIndex: number;
  readonly request: ReleaseRequest;
}

const KNOWN_KEY: HashKey = { low: 0, high: 0 };

export class StateMachine {
  #state: State;
  readonly #options: StateOptions;
  readonly #feed = new ChangeFeed();
  #appliedIndex = 0;

  constructor(options: StateMachineOptions = {}) {
    const { limits = {}, hashKey = KNOWN_KEY, versions = VERSIONS } = options;
    this.#options = { limits, hashKey, versions };
    this.#state = new State(this.#options);
    this.#state.nodes.reportTo(this.#feed);
  }

  get appliedIndex(): number {
    return this.#appliedIndex;
  }

  /** By which rules it applies entries; raised by an entry. */
  get version(): number {
    return this.#state.version;
  }

  /** What a server that applies entries by {@link version} may offer to clients. */
  get clientFeatures(): FeatureSet {
    return this.#state.rules.clientFeatures;
  }

  /** A safe integer that is equal on all machines that applied the same entries. */
  get digest(): number {
    return this.#state.digest.value;
  }

  get counts(): StateCounts {
    return this.#state.counts;
  }

  /** What the answers take that no session has acknowledged yet. */
  get replyBytes(): number {
    return this.#state.sessions.replies.bytes;
  }

  /**
   * Applies the entry that follows. Keeps no view of its bytes.
   *
   * @throws UnsupportedEntryError before anything has changed; InvariantError, after which the machine must not be used
   */
  apply(index: number, entry: Uint8Array): readonly Output[] {
    this.#checkNext(index);
    const decoded = decodeEntry(index, entry, this.#options.versions.latest);
    const { header, name } = decoded;
    const state = this.#state;
    state.begin(index, header.stamp);
    if (name === 'attach') this.#attach(decoded);
    else if (name === 'expireSession') this.#expire(decoded);
    else if (name === 'raiseStateVersion') this.#raise(decoded);
    else if (name === 'continueEnd') this.#continueEnd(decoded);
    else if (name === 'removeUnused') this.#removeUnused(decoded);
    else if (name === 'endLockDelay') this.#endLockDelay(decoded);
    else if (name === 'enforceRelease') this.#enforceRelease(decoded);
    else this.#request(decoded);
    if (state.ended !== undefined) state.events.push({ type: 'sessionEnded', ...state.ended });
    this.#appliedIndex = index;
    return state.events;
  }

  /** Raft's own entries advance the index and the digest, too. */
  applyNoop(index: number): void {
    this.#checkNext(index);
    this.#state.digest.mix(index);
    this.#state.digest.mix(NOOP);
    this.#appliedIndex = index;
  }

  /**
   * The state goes on as that of a new cluster, whose log begins behind `index`: every session has ended, with all that it held. No
   * entry does this; it makes the state that a new cluster's first snapshot holds.
   */
  beginNewLife(index: number): void {
    invariant(index > this.#appliedIndex, 'a new life begins behind the old one');
    invariant(index <= MAX_INDEX, 'an index is a safe integer');
    this.#state.begin(index, this.#state.stamp);
    endEverySession(this.#state);
    this.#appliedIndex = index;
  }

  /** Of the state as it is now, whatever is applied later. One at a time: until it was handed out or cancelled, another may not begin. */
  beginSnapshot(): StateSnapshot {
    return new StateSnapshot(this.#state, this.#appliedIndex);
  }

  /** Takes the pieces of a snapshot of that index, and at the end its state, in place of the own one, which stays what it is until then. */
  beginRestore(index: number): StateRestore {
    return new StateRestore(this.#options, index, (state) => {
      this.#state = state;
      state.nodes.reportTo(this.#feed);
      this.#appliedIndex = index;
    });
  }

  /**
   * Does a slice, about a millisecond, of what answering the query takes beforehand, and returns true when all of that is done. Nothing may
   * be applied between that and the query; without it the query takes as long as it takes.
   */
  prepare(query: Query): boolean {
    return prepareQuery(this.#state, query);
  }

  query(query: Query): Answer {
    return answerQuery(this.#state, query);
  }

  /**
   * Notifies the listener of every change of a node from now on, until what is returned is called. A snapshot that is restored replaces the
   * tree without a word: the listener goes on with the new one, in which slots stand for other nodes.
   */
  listen(listener: NodeListener): () => void {
    return this.#feed.listen(listener);
  }

  /** Of a node that exists. */
  pathOf(node: NodeSlot): string {
    return this.#state.nodes.path(node);
  }

  /** The nodes, to be looked at only. What a snapshot that is restored replaces stays as it was, for who has asked for it before. */
  get tree(): TreeLookup {
    return this.#state.nodes;
  }

  /** Undefined for one that never was or has ended. */
  session(id: number): SessionInfo | undefined {
    const session = this.#state.sessions.get(id);
    return session === undefined ? undefined : sessionInfo(session);
  }

  /** The waits and holds of a session, by acquire index; none of one that does not live. */
  acquires(session: number): readonly Acquire[] {
    const { sessions, locks } = this.#state;
    const living = sessions.get(session);
    const acquires = living === undefined ? [] : locks.acquiresOf(living).inOrder();
    return acquires.map(({ lock, acquireIndex, token }) => ({ lock: lock.name, acquireIndex, token }));
  }

  /** Holds that are to be released, by the indexes of the requests. */
  releaseRequests(): readonly RequestedRelease[] {
    return this.#state.locks.toBeReleased().flatMap(({ session, lock, acquireIndex, releaseRequest }) => {
      return releaseRequest === undefined
        ? []
        : [{ session: session.id, lock: lock.name, acquireIndex, request: releaseRequest }];
    });
  }

  /** Locks that are delayed. */
  get delayedLocks(): number {
    return this.#state.locks.delayed.size;
  }

  /** Of every lock that is delayed, in order of their names. */
  lockDelays(): readonly PendingDelay[] {
    return lockDelays(this.#state);
  }

  /** At most so many of those who hold that lock, in order of their acquires, behind the one of that index; undefined for one that nobody holds. */
  lockHolds(lock: string, after: number, count: number): LockHolds | undefined {
    return lockHolds(this.#state, lock, after, count);
  }

  /** What a session holds, once for each lock; nothing for one that does not live. */
  sessionHolds(session: number): readonly HeldPlace[] {
    return sessionHolds(this.#state, session);
  }

  /** Whether an attach with the secret of that hash would find a session. */
  hasSessionOf(secretHash: Uint8Array): boolean {
    return this.#state.sessions.bySecretHash(hashKey(secretHash)) !== undefined;
  }

  /** The oldest session that is over while nodes of it are left; 0 for none. */
  get firstEnding(): number {
    return this.#state.sessions.firstEnding;
  }

  /** The highest stamp of an entry so far. */
  get stamp(): number {
    return this.#state.stamp;
  }

  /** What the leader must know of a node that may go by itself; undefined for one that does not. */
  limitedNode(node: NodeSlot): LimitedNode | undefined {
    return limitedNode(this.#state.nodes, node);
  }

  /** The nodes that may go by themselves, in no particular order. */
  withLifetime(): Iterable<NodeSlot> {
    return this.#state.nodes.withLifetime();
  }

  /** Living sessions by id, and those that are ending. A copy: entries may be applied while it is read. */
  sessions(): readonly SessionInfo[] {
    return this.#state.sessions.inOrder().map(sessionInfo);
  }

  #checkNext(index: number): void {
    invariant(index === this.#appliedIndex + 1, 'entries are applied in index order without gaps');
    invariant(index <= MAX_INDEX, 'an index is a safe integer');
  }

  #attach(decoded: DecodedEntry): void {
    const { header } = decoded;
    const command = commandOrError('attach', decoded);
    invariant(command.type === 'attach' || command.type === 'error', 'a decoded command is of its type');
    const reply = command.type === 'error' ? command : attach(this.#state, command, header.via);
    this.#mixResult(reply);
    this.#state.events.push({ type: 'attached', server: header.via, correlation: header.number, reply });
  }

  #request(decoded: DecodedEntry): void {
    const { header, name } = decoded;
    const session = this.#state.sessions.get(header.session);
    if (session === undefined) return this.#refuse(header, 'SESSION_EXPIRED', 0);
    const { cache } = session;
    // A server speaks for the sessions that are attached to it, and for no other, whatever generation it names.
    const attached = header.via === session.server && header.generation === session.generation;
    if (!attached) return this.#refuse(header, 'SESSION_MOVED', cache.lastApplied);
    if (session.ending !== undefined) {
      // The answer to its own close comes with the end.
      if (header.number !== session.ending.number) this.#refuse(header, 'OVERLOADED', cache.lastApplied);
      return;
    }
    const next = cache.lastApplied + 1;
    if (!Number.isSafeInteger(header.number) || header.number > next) {
      return this.#refuse(header, 'OUT_OF_ORDER', cache.lastApplied);
    }

    this.#state.sessions.changing(session);
    // A request cannot acknowledge itself or later ones: what claims so has acknowledged all before it.
    if (Number.isSafeInteger(header.ackedUpTo)) cache.evictUpTo(Math.min(header.ackedUpTo, header.number - 1));
    if (header.number < next) return this.#repeat(session, header);
    if (cache.full) return this.#refuse(header, 'OVERLOADED', cache.lastApplied);

    const made = this.#resultOf(session, name, decoded);
    const steps = breakDeadlocks(this.#state, made);
    if (isEnding(session)) return;
    const result: CachedReply = steps === undefined ? made : { type: 'deadlock', steps };
    // A session that this has ended caches nothing, and counts for nothing.
    if (this.#state.ended?.session !== session.id) cache.add(result);
    const reply = presentReply(result);
    this.#mixResult(reply);
    this.#reply(header, reply);
  }

  #resultOf(session: Session, name: CommandName | undefined, decoded: DecodedEntry): CachedReply {
    const { commands, version } = this.#state.rules;
    const { command: number, number: request } = decoded.header;
    if (name === undefined || commands[number] !== true) return unsupportedReply(`command ${number}`, version);
    // Thousands of operations are never all decoded at once.
    if (name === 'transaction') return transaction(this.#state, session, decoded);
    const command = commandOrError(name, decoded, this.#state.limits.maxPathLength);
    return command.type === 'error' ? command : applyClientCommand(this.#state, session, command, request);
  }

  #repeat(session: Session, header: StampedHeader): void {
    const cached: CachedReply | undefined = session.cache.get(header.number);
    if (cached === undefined) return this.#refuse(header, 'OUT_OF_ORDER', session.cache.lastApplied);
    this.#state.digest.mix(REPEATED);
    this.#reply(header, presentReply(cached));
  }

  #expire(decoded: DecodedEntry): void {
    const command = commandOrError('expireSession', decoded);
    if (command.type === 'expireSession') expireSession(this.#state, command);
    breakDeadlocks(this.#state);
    this.#state.digest.mix(command.type === 'error' ? errorCodeToWire(command.code) : 0);
  }

  #continueEnd(decoded: DecodedEntry): void {
    const command = commandOrError('continueEnd', decoded);
    if (command.type === 'continueEnd') continueEnd(this.#state, command);
    this.#state.digest.mix(command.type === 'error' ? errorCodeToWire(command.code) : 0);
  }

  #removeUnused(decoded: DecodedEntry): void {
    const command = commandOrError('removeUnused', decoded);
    if (command.type === 'removeUnused') removeUnused(this.#state, command);
    this.#state.digest.mix(command.type === 'error' ? errorCodeToWire(command.code) : 0);
  }

  #endLockDelay(decoded: DecodedEntry): void {
    const command = commandOrError('endLockDelay', decoded);
    if (command.type === 'endLockDelay') endLockDelay(this.#state, command);
    breakDeadlocks(this.#state);
    this.#state.digest.mix(command.type === 'error' ? errorCodeToWire(command.code) : 0);
  }

  #enforceRelease(decoded: DecodedEntry): void {
    const command = commandOrError('enforceRelease', decoded);
    if (command.type === 'enforceRelease') enforceRelease(this.#state, command);
    breakDeadlocks(this.#state);
    this.#state.digest.mix(command.type === 'error' ? errorCodeToWire(command.code) : 0);
  }

  #raise(decoded: DecodedEntry): void {
    const command = commandOrError('raiseStateVersion', decoded);
    const state = this.#state;
    // Two leaders may have proposed it.
    if (command.type === 'raiseStateVersion' && command.version > state.version) state.raise(command.version);
    state.digest.mix(command.type === 'error' ? errorCodeToWire(command.code) : state.version);
  }

  #reply(header: StampedHeader, reply: Reply): void {
    const { session, generation, number } = header;
    this.#state.events.push({ type: 'reply', session, generation, number, reply });
  }

  #refuse(header: StampedHeader, code: RefusalCode, lastApplied: number): void {
    const { session, generation, number, via } = header;
    this.#state.digest.mix(REFUSED + errorCodeToWire(code));
    this.#state.events.push({ type: 'refused', server: via, session, generation, number, code, lastApplied });
  }

  #mixResult(reply: Reply): void {
    this.#state.digest.mix(resultOf(reply));
    if (reply.type === 'transactionFailed') this.#state.digest.mix(reply.operation);
  }
}

/** For the digest: 0 for success, otherwise the wire code of what went wrong. */
function resultOf(reply: Reply): number {
  if (reply.type === 'error' || reply.type === 'transactionFailed') return errorCodeToWire(reply.code);
  return reply.type === 'deadlock' ? errorCodeToWire('DEADLOCK') : 0;
}

/** Read anew: applying a command may have changed it. */
function isEnding({ ending }: Session): boolean {
  return ending !== undefined;
}
