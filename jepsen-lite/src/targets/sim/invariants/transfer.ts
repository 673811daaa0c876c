/**
 * What a leadership transfer promises: a leader that is asked to stop, while nothing else is wrong, is followed by a server that it
 * asked to stand, so that nobody waits for an election timeout; and whoever is taken for its successor has everything that it proposed.
 */

import type { Message } from '@holdfast/raft';
import type { Report } from '../../../checkers/violation.ts';

/** What `stepped` reports of a core. */
export interface LeadershipView {
  readonly role: string;
  readonly term: number;
  /** 0 while unknown. */
  readonly leader: number;
  readonly commitIndex: number;
  /** 0 for none. */
  readonly successor: number;
}

/** The terms of the entries that a server has in memory, by index. */
export type LogOf = (id: number) => readonly number[];

/** Whether a server has a vote, so that leadership may be transferred to it. */
export type HasVote = (id: number) => boolean;

interface Leadership {
  readonly term: number;
  readonly lastIndex: number;
}

interface Elected {
  readonly id: number;
  readonly terms: readonly number[];
}

/** A term that only a snapshot knows; what a snapshot holds is committed. */
const isOf = (found: number | undefined, term: number): boolean => found === term || found === -1;

export class TransferInvariants {
  readonly #logOf: LogOf;
  readonly #report: Report;
  readonly #hasVote: HasVote;
  readonly #views = new Map<number, LeadershipView>();
  /** How far its log had got when a server last led, since its start. */
  readonly #led = new Map<number, Leadership>();
  /** The leader of each term, with its log when it was elected. */
  readonly #elected = new Map<number, Elected>();
  /** Candidacies that a leader asked for. */
  readonly #asked = new Set<string>();
  /** A leader that was asked to stop while all was well, until somebody follows it. */
  #stopped: { readonly id: number; readonly term: number } | undefined;
  /** Leaders that were stopped while all was well, and were followed by whom they asked. */
  transfers = 0;
  #changes = 0;

  constructor(logOf: LogOf, report: Report, hasVote: HasVote = () => true) {
    this.#logOf = logOf;
    this.#hasVote = hasVote;
    this.#report = report;
  }

  /** A server is asked to stop, and no fault is under way. Judged when it leads, and a follower has all that is committed. */
  stopping(id: number): void {
    const view = this.#views.get(id);
    this.#stopped = undefined;
    if (this.#changes > 0) return;
    if (view?.role !== 'leader' || [...this.#views.values()].some(({ term }) => term > view.term)) return;
    const follows = (other: number, { role, term, leader }: LeadershipView): boolean =>
      role === 'follower' &&
      this.#hasVote(other) &&
      term === view.term &&
      leader === id &&
      this.#logOf(other).length > view.commitIndex;
    if ([...this.#views].some(([other, theirs]) => follows(other, theirs))) this.#stopped = { id, term: view.term };
  }

  /** Whether a leader was asked to stop, and nobody has followed it yet. */
  get judging(): boolean {
    return this.#stopped !== undefined;
  }

  /** A change of the members begins (1) or ends (-1): meanwhile nothing is judged. */
  changing(by: 1 | -1): void {
    this.#changes += by;
    this.disturbed();
  }

  /** A fault begins: a transfer that is under way may fail for it. */
  disturbed(): void {
    this.#stopped = undefined;
  }

  sending(id: number, message: Message): void {
    if (message.type === 'vote' && message.transfer) this.#asked.add(candidacy(id, message.term));
  }

  stepped(id: number, view: LeadershipView): void {
    const before = this.#views.get(id);
    this.#views.set(id, view);
    if (view.role === 'leader') {
      if (before?.role !== 'leader' || before.term !== view.term) this.#electedNow(id, view.term);
      this.#led.set(id, { term: view.term, lastIndex: this.#logOf(id).length - 1 });
    }
    if (view.successor !== 0 && view.leader !== 0) this.#checkSuccessor(id, view);
  }

  down(id: number): void {
    this.#views.delete(id);
    this.#led.delete(id);
  }

  #electedNow(id: number, term: number): void {
    this.#elected.set(term, { id, terms: [...this.#logOf(id)] });
    const stopped = this.#stopped;
    if (stopped === undefined || term <= stopped.term) return;
    this.#stopped = undefined;
    if (this.#asked.has(candidacy(id, term))) {
      this.transfers += 1;
      return;
    }
    this.#report(
      'a-leader-that-stops-transfers-leadership',
      `server ${stopped.id}, leader of term ${stopped.term}, was asked to stop with a follower at hand; server ${id}, which it did not ask, leads term ${term}`,
    );
  }

  #checkSuccessor(id: number, { term }: LeadershipView): void {
    const led = this.#led.get(id);
    const elected = this.#elected.get(term);
    if (led === undefined || elected === undefined || isOf(elected.terms[led.lastIndex], led.term)) return;
    this.#report(
      'a-successor-has-all-that-was-proposed',
      `server ${id}, which led term ${led.term}, takes server ${elected.id} for its successor, which leads term ${term} without its entry ${led.lastIndex}`,
    );
  }
}

function candidacy(id: number, term: number): string {
  return `${id} in ${term}`;
}
