/**
 * Queries. A linearizable one is answered once this server has applied what was committed anywhere before it was asked: the
 * leader finds that index by a quorum round, and a follower asks the leader for it, once a turn for all its reads; while no leader
 * is known they wait for the next. A `session` one waits, shortly, for what the client has seen elsewhere; a `local` one waits for
 * nothing. What need not wait any more is answered at the end of the turn, connection by connection, for a few milliseconds a turn: the
 * rest is left to the next one, so that no number of reads holds up anything else. Answers show the state of the moment in which they are
 * made, which may only be newer than what the read asked for.
 */

import type { Answer, ErrorCode, Query } from '@holdfast/protocol';
import type { ReplicaHandle, ReplicaStatus, ServerId } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import type { SessionClient } from '../port/session-client.ts';
import type { SessionRead } from '../port/session-port.ts';
import type { ServerCounters } from '../counters.ts';
import {
  BEHIND_LOOK_MS,
  MAX_BEHIND_LOOK_MS,
  MAX_PARKED_READS,
  MAX_UNANSWERED_READS,
  READ_RETRY_MS,
  READ_TURN_MS,
  SESSION_READ_WAIT_MS,
} from '../limits.ts';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';
import { FairQueue } from './fair-queue.ts';

export interface ReadsDeps {
  readonly clock: Clock;
  readonly counters: ServerCounters;
  readonly correlations: CorrelationIds;
  readonly peers: PeerOutbox;
  handle(): ReplicaHandle;
  /** A slice of what the query needs beforehand; true when all of that is done. */
  prepare(query: Query): boolean;
  query(query: Query): Answer;
  appliedIndex(): number;
  wake(): void;
}

/** Why a read is not answered. */
export interface ReadRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

interface Read {
  readonly client: SessionClient;
  readonly id: number;
  readonly query: Query;
  /** Answers it; undefined: the answer is sent. */
  readonly inTurn: ((refusal: ReadRefusal | undefined) => void) | undefined;
  /** The leader has refused it once. */
  asked: boolean;
  /** The index that it waits for; 0 when it waits for none. */
  waitsFor: number;
  /** For a `session` read: until when it waits, monotonic. */
  untilMs: number;
  refusal: ReadRefusal | undefined;
}

export class Reads implements ServerPart {
  readonly peerMessages: PeerHandlers = {
    'read-index': (from, { batch }) => this.#askedByPeer(from, batch),
    'read-index-answer': (_from, { batch, index }) => this.#indexKnown(batch, index),
  };
  readonly #deps: ReadsDeps;
  #status: ReplicaStatus | undefined;
  /** Linearizable ones of this turn; while no leader is known, of all turns since. */
  #gathered: Read[] = [];
  /** Linearizable ones whose index is being asked for, here or at the leader. */
  readonly #asking = new Map<number, readonly Read[]>();
  /** Linearizable ones that the leader has refused, until they are asked again. */
  #refused: Read[] = [];
  #askTimer: Timer | undefined;
  /** Those which wait until this server has applied an index, by that index, none of which is applied. */
  readonly #waiting = new Map<number, Set<Read>>();
  /** Up to which index they have been looked for. */
  #lookedUpTo = 0;
  /** The `session` reads among them and some that wait no longer, in the order in which their time is up. */
  #late: Read[] = [];
  #timer: Timer | undefined;
  /** What is answered next. */
  readonly #ready = new FairQueue<SessionClient, Read>();
  /** Looks for clients that have read what they had before. */
  #behindTimer: Timer | undefined;
  #behindLookMs = BEHIND_LOOK_MS;

  constructor(deps: ReadsDeps) {
    this.#deps = deps;
  }

  /** Reads that wait for nothing but their turn. */
  get ready(): number {
    return this.#ready.size;
  }

  read(client: SessionClient, read: SessionRead): void {
    this.#take(client, read, undefined);
  }

  /** Calls `inTurn` when a read like that would be answered, in the turn of its client and prepared, or refused. */
  inTurn(
    client: SessionClient,
    read: Omit<SessionRead, 'id'>,
    inTurn: (refusal: ReadRefusal | undefined) => void,
  ): void {
    this.#take(client, { ...read, id: 0 }, inTurn);
  }

  #take(client: SessionClient, { id, query, consistency, minIndex }: SessionRead, inTurn: Read['inTurn']): void {
    const read: Read = { client, id, query, inTurn, asked: false, waitsFor: 0, untilMs: Infinity, refusal: undefined };
    client.unansweredReads += 1;
    if (client.unansweredReads > MAX_UNANSWERED_READS) {
      // At once: what is refused is to cost less than what is queued.
      const text = `over ${MAX_UNANSWERED_READS} reads are unanswered; wait for answers`;
      this.#deps.counters.readsRefused += 1;
      this.#end(read, { code: 'OVERLOADED', message: text });
      return;
    }
    switch (consistency) {
      case 'local':
        this.#enqueue(read);
        return;
      case 'session':
        if (minIndex <= this.#deps.appliedIndex()) this.#enqueue(read);
        else this.#waitShortly(minIndex, read);
        return;
      case 'linearizable':
        this.#gathered.push(read);
        this.#deps.wake();
        return;
    }
  }

  /** A follower asks where its reads of a turn must wait for. */
  #askedByPeer(from: ServerId, batch: number): void {
    const answer = (index: number): void => this.#deps.peers.send(from, { type: 'read-index-answer', batch, index });
    if (this.#status?.role !== 'leader') {
      answer(0);
      return;
    }
    this.#deps.handle().readIndex((result) => answer(typeof result === 'number' ? result : 0));
  }

  statusChanged(status: ReplicaStatus): void {
    const changed = status.leader !== this.#status?.leader || status.term !== this.#status.term;
    this.#status = status;
    if (!changed) return;
    // The index that was asked for may never be told. The next leader can be asked as well.
    this.#gathered = [...this.#takeAsking(), ...this.#gathered];
    if (this.#gathered.length > 0) this.#deps.wake();
  }

  /** That to the leader: it is known and can't be reached; reads can be asked again anywhere. */
  connectionLost(peer: ServerId): void {
    if (peer !== this.#status?.leader) return;
    this.#refuse(this.#takeAsking(), 'NO_LEADER', 'the connection to the leader was lost while the read waited for it');
  }

  /** What waits for a leader to be known is over: its clients have been sent away. */
  contactLost(): void {
    this.#refuse([...this.#gathered, ...this.#refused], 'NO_LEADER', 'this server knows no leader');
    this.#gathered = [];
    this.#refused = [];
  }

  endOfTurn(): void {
    this.#ask();
    this.#findApplied();
    this.#answerReady();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#askTimer?.cancel();
    this.#behindTimer?.cancel();
  }

  #ask(): void {
    if (this.#gathered.length === 0) return;
    const leader = this.#status?.leader ?? 0;
    if (leader === 0) {
      this.#refuse(this.#gathered.splice(MAX_PARKED_READS), 'NO_LEADER', 'this server knows no leader');
      return;
    }
    const reads = this.#gathered.filter((read) => isOpen(read));
    this.#gathered = [];
    const batch = this.#deps.correlations.next();
    this.#asking.set(batch, reads);
    if (this.#status?.role === 'leader') {
      this.#deps.handle().readIndex((result) => this.#indexKnown(batch, typeof result === 'number' ? result : 0));
    } else {
      this.#deps.peers.send(leader as ServerId, { type: 'read-index', batch });
    }
  }

  /** The leader is probably none any more, and who leads next will be known in a moment. Once for each read; then its client decides. */
  #askLater(reads: readonly Read[]): void {
    const again = reads.filter((read) => !read.asked);
    this.#refuse(
      reads.filter((read) => read.asked),
      'NO_LEADER',
      'the leader could not confirm that it leads',
    );
    for (const read of again) {
      read.asked = true;
      this.#refused.push(read);
    }
    this.#askTimer ??= this.#deps.clock.setTimer(READ_RETRY_MS, () => {
      this.#askTimer = undefined;
      this.#gathered = [...this.#gathered, ...this.#refused.splice(0)];
      this.#deps.wake();
    });
  }

  #takeAsking(): Read[] {
    const reads = [...this.#asking.values(), this.#refused].flat();
    this.#asking.clear();
    this.#refused = [];
    return reads;
  }

  /** The answer of the leader, here or elsewhere; index 0 is a refusal. */
  #indexKnown(batch: number, index: number): void {
    const reads = this.#asking.get(batch);
    if (reads === undefined) return;
    this.#asking.delete(batch);
    if (index === 0) {
      this.#askLater(reads);
    } else {
      for (const read of reads) this.#waitFor(index, read);
      this.#deps.wake();
    }
  }

  #waitFor(index: number, read: Read): void {
    if (index <= this.#deps.appliedIndex()) {
      this.#enqueue(read);
      return;
    }
    read.waitsFor = index;
    const reads = this.#waiting.get(index);
    if (reads === undefined) this.#waiting.set(index, new Set([read]));
    else reads.add(read);
  }

  #findApplied(): void {
    const applied = this.#deps.appliedIndex();
    const from = this.#lookedUpTo + 1;
    this.#lookedUpTo = applied;
    if (this.#waiting.size === 0) return;
    if (applied - from < this.#waiting.size) {
      for (let index = from; index <= applied; index += 1) this.#enqueueAt(index);
    } else {
      const reached = [...this.#waiting.keys()].filter((index) => index <= applied);
      for (const index of reached.toSorted((left, right) => left - right)) this.#enqueueAt(index);
    }
  }

  #enqueueAt(index: number): void {
    const reads = this.#waiting.get(index);
    if (reads === undefined) return;
    this.#waiting.delete(index);
    for (const read of reads) this.#enqueue(read);
  }

  #waitShortly(index: number, read: Read): void {
    read.untilMs = this.#deps.clock.monotonicMs() + SESSION_READ_WAIT_MS;
    this.#waitFor(index, read);
    this.#late.push(read);
    this.#timer ??= this.#deps.clock.setTimer(SESSION_READ_WAIT_MS, () => this.#refuseLate());
  }

  #refuseLate(): void {
    this.#timer = undefined;
    const now = this.#deps.clock.monotonicMs();
    const end = this.#late.findIndex(({ untilMs }) => untilMs > now);
    const late = end < 0 ? this.#late.splice(0) : this.#late.splice(0, end);
    const applied = this.#deps.appliedIndex();
    for (const read of late) {
      const { waitsFor } = read;
      if (waitsFor === 0) continue;
      const reads = this.#waiting.get(waitsFor);
      reads?.delete(read);
      if (reads?.size === 0) this.#waiting.delete(waitsFor);
      this.#refuse([read], 'NOT_CAUGHT_UP', `this server has applied ${applied}, the reader has seen ${waitsFor}`);
    }
    const next = this.#late[0]?.untilMs;
    if (next !== undefined) this.#timer = this.#deps.clock.setTimer(next - now, () => this.#refuseLate());
  }

  #refuse(reads: readonly Read[], code: ErrorCode, message: string): void {
    for (const read of reads) {
      read.refusal = { code, message };
      this.#enqueue(read);
    }
  }

  #enqueue(read: Read): void {
    read.waitsFor = 0;
    this.#ready.push(read.client, read);
    this.#deps.wake();
  }

  /** For a bounded time; at least one, however long it takes. */
  #answerReady(): void {
    if (this.#ready.size === 0) return;
    const { clock, counters } = this.#deps;
    const untilMs = clock.monotonicMs() + READ_TURN_MS;
    for (let read = this.#ready.next(); read !== undefined; read = this.#ready.next()) {
      this.#answerInTurn(read);
      if (clock.monotonicMs() < untilMs) continue;
      if (this.#ready.size === 0) return;
      counters.readTurnsCut += 1;
      this.#deps.wake();
      return;
    }
  }

  #answerInTurn(read: Read): void {
    const { client, query, refusal } = read;
    const { counters } = this.#deps;
    if (!client.open) {
      client.readAnswered();
    } else if (client.isBehind) {
      this.#ready.suspend(client, read);
      this.#behindTimer ??= this.#deps.clock.setTimer(this.#behindLookMs, () => this.#resumeReaders());
    } else if (refusal !== undefined) {
      counters.readsRefused += 1;
      this.#end(read, refusal);
    } else if (this.#deps.prepare(query)) {
      counters.readsAnswered += 1;
      this.#end(read, undefined);
    } else {
      this.#ready.putBack(client, read);
    }
  }

  #resumeReaders(): void {
    this.#behindTimer = undefined;
    const caughtUp = [...this.#ready.suspended].filter(({ open, isBehind }) => !open || !isBehind);
    for (const client of caughtUp) this.#ready.resume(client);
    this.#behindLookMs = caughtUp.length > 0 ? BEHIND_LOOK_MS : Math.min(2 * this.#behindLookMs, MAX_BEHIND_LOOK_MS);
    if (caughtUp.length > 0) this.#deps.wake();
    if (this.#ready.suspendedOwners === 0) return;
    this.#behindTimer = this.#deps.clock.setTimer(this.#behindLookMs, () => this.#resumeReaders());
  }

  #end({ client, id, query, inTurn }: Read, refusal: ReadRefusal | undefined): void {
    client.readAnswered();
    if (inTurn !== undefined) {
      inTurn(refusal);
      return;
    }
    const answer: Answer = refusal === undefined ? this.#deps.query(query) : { type: 'error', ...refusal };
    client.send({ type: 'answer', id, index: this.#deps.appliedIndex(), answer });
  }
}

function isOpen(read: Read): boolean {
  return read.client.open;
}
