/**
 * Queries. A linearizable one is answered once this server has applied what was committed anywhere before it was asked: the
 * leader finds that index by a quorum round, and a follower asks the leader for it, once a turn for all its reads; while no leader
 * is known they wait for the next. A `session` one waits, shortly, for what the client has seen elsewhere; a `local` one is
 * answered at once.
 */

import type { Answer, ClientMessage, ErrorCode, Query } from '@holdfast/protocol';
import type { ReplicaHandle, ReplicaStatus, ServerId } from '@holdfast/raft';
import type { Clock, Timer } from '@holdfast/runtime';
import type { ClientConnection } from '../clients/client-connection.ts';
import type { ServerCounters } from '../counters.ts';
import { MAX_PARKED_READS, MAX_UNANSWERED_READS, READ_RETRY_MS, SESSION_READ_WAIT_MS } from '../limits.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';

export interface ReadsDeps {
  readonly clock: Clock;
  readonly counters: ServerCounters;
  readonly peers: PeerOutbox;
  handle(): ReplicaHandle;
  query(query: Query): Answer;
  appliedIndex(): number;
  wake(): void;
}

interface Read {
  readonly connection: ClientConnection;
  readonly id: number;
  readonly query: Query;
  /** The leader has refused it once. */
  asked: boolean;
}

/** Reads that wait for this server to have applied `index`. */
interface Waiting {
  readonly index: number;
  readonly reads: readonly Read[];
  /** Monotonic; undefined waits as long as it takes. */
  readonly untilMs: number | undefined;
}

export class Reads {
  readonly #deps: ReadsDeps;
  #status: ReplicaStatus | undefined;
  /** Linearizable ones of this turn; while no leader is known, of all turns since. */
  #gathered: Read[] = [];
  /** Linearizable ones whose index is being asked for, here or at the leader. */
  readonly #asking = new Map<number, readonly Read[]>();
  #nextBatch = 1;
  /** Linearizable ones that the leader has refused, until they are asked again. */
  #refused: Read[] = [];
  #askTimer: Timer | undefined;
  #waiting: Waiting[] = [];
  #timer: Timer | undefined;

  constructor(deps: ReadsDeps) {
    this.#deps = deps;
  }

  read(connection: ClientConnection, message: Extract<ClientMessage, { type: 'read' }>): void {
    const read: Read = { connection, id: message.id, query: message.query, asked: false };
    connection.unansweredReads += 1;
    if (connection.unansweredReads > MAX_UNANSWERED_READS) {
      this.#refuse([read], 'OVERLOADED', `over ${MAX_UNANSWERED_READS} reads are unanswered; wait for answers`);
      return;
    }
    switch (message.consistency) {
      case 'local':
        this.#answer(read);
        return;
      case 'session':
        if (message.minIndex <= this.#deps.appliedIndex()) this.#answer(read);
        else this.#waitShortly(message.minIndex, read);
        return;
      case 'linearizable':
        this.#gathered.push(read);
        this.#deps.wake();
        return;
    }
  }

  /** A follower asks where its reads of a turn must wait for. */
  askedByPeer(from: ServerId, batch: number): void {
    const answer = (index: number): void => this.#deps.peers.send(from, { type: 'read-index-answer', batch, index });
    if (this.#status?.role !== 'leader') {
      answer(0);
      return;
    }
    this.#deps.handle().readIndex((result) => answer(typeof result === 'number' ? result : 0));
  }

  /** The leader's answer; index 0 is a refusal. */
  answeredByPeer(batch: number, index: number): void {
    this.#indexKnown(batch, index);
  }

  statusChanged(status: ReplicaStatus): void {
    const changed = status.leader !== this.#status?.leader || status.term !== this.#status.term;
    this.#status = status;
    if (!changed) return;
    // The index that was asked for may never be told. The next leader can be asked as well.
    this.#gathered = [...this.#takeAsking(), ...this.#gathered];
    if (this.#gathered.length > 0) this.#deps.wake();
  }

  /** The leader is known and can't be reached; reads can be asked again anywhere. */
  leaderLost(): void {
    this.#refuse(this.#takeAsking(), 'NO_LEADER', 'the connection to the leader was lost while the read waited for it');
  }

  /** What waits for a leader to be known is over: its clients have been sent away. */
  dropUnasked(): void {
    this.#refuse([...this.#gathered, ...this.#refused], 'NO_LEADER', 'this server knows no leader');
    this.#gathered = [];
    this.#refused = [];
  }

  endOfTurn(): void {
    this.#ask();
    this.#answerApplied();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#askTimer?.cancel();
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
    const batch = this.#nextBatch++;
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

  #indexKnown(batch: number, index: number): void {
    const reads = this.#asking.get(batch);
    if (reads === undefined) return;
    this.#asking.delete(batch);
    if (index === 0) {
      this.#askLater(reads);
    } else {
      this.#waiting.push({ index, reads, untilMs: undefined });
      this.#deps.wake();
    }
  }

  #answerApplied(): void {
    if (this.#waiting.length === 0) return;
    const applied = this.#deps.appliedIndex();
    const waiting = this.#waiting;
    this.#waiting = waiting.filter((each) => each.index > applied && each.reads.some(isOpen));
    for (const each of waiting) {
      if (each.index <= applied) each.reads.forEach((read) => this.#answer(read));
    }
  }

  #waitShortly(index: number, read: Read): void {
    const untilMs = this.#deps.clock.monotonicMs() + SESSION_READ_WAIT_MS;
    this.#waiting.push({ index, reads: [read], untilMs });
    this.#timer ??= this.#deps.clock.setTimer(SESSION_READ_WAIT_MS, () => this.#refuseLate());
  }

  #refuseLate(): void {
    this.#timer = undefined;
    const now = this.#deps.clock.monotonicMs();
    const isLate = ({ untilMs = Infinity }: Waiting): boolean => untilMs <= now;
    const late = this.#waiting.filter(isLate);
    this.#waiting = this.#waiting.filter((each) => !isLate(each));
    const applied = this.#deps.appliedIndex();
    for (const { index, reads } of late) {
      this.#refuse(reads, 'NOT_CAUGHT_UP', `this server has applied ${applied}, the reader has seen ${index}`);
    }
    const next = this.#waiting.reduce((earliest, { untilMs = Infinity }) => Math.min(earliest, untilMs), Infinity);
    if (next !== Infinity) this.#timer = this.#deps.clock.setTimer(next - now, () => this.#refuseLate());
  }

  #answer(read: Read): void {
    read.connection.unansweredReads -= 1;
    if (!isOpen(read)) return;
    this.#deps.counters.readsAnswered += 1;
    const answer = this.#deps.query(read.query);
    read.connection.send({ type: 'answer', id: read.id, index: this.#deps.appliedIndex(), answer });
  }

  #refuse(reads: readonly Read[], code: ErrorCode, message: string): void {
    const index = this.#deps.appliedIndex();
    for (const { connection, id } of reads) {
      connection.unansweredReads -= 1;
      this.#deps.counters.readsRefused += 1;
      connection.send({ type: 'answer', id, index, answer: { type: 'error', code, message } });
    }
  }
}

function isOpen(read: Read): boolean {
  return read.connection.phase !== 'closed';
}
