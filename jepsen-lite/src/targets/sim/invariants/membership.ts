/**
 * What a change of the members promises: voters change only through a joint configuration, one change at a time, none before an entry of
 * the leader's own term is committed; an id and the data directory behind it are used once; elections are decided by the voters alone,
 * of both halves while the configuration is joint; and a leader that was removed leads no longer.
 */

import type { Configuration, Entry } from '@holdfast/raft';
import { isMajority, isVoter, type Configurations, type KnownConfiguration } from './configurations.ts';
import type { Report } from '../../../checkers/violation.ts';

/** A server's log, by the terms of its entries, after a step; and what it knows to be committed. */
export interface LogView {
  readonly id: number;
  readonly terms: readonly number[];
  readonly term: number;
  readonly commitIndex: number;
  readonly role: string;
}

export class MembershipInvariants {
  readonly #configurations: Configurations;
  readonly #report: Report;
  /** Who has granted its vote, by term and candidate. */
  readonly #granted = new Map<string, Set<number>>();

  constructor(configurations: Configurations, report: Report) {
    this.#configurations = configurations;
    this.#report = report;
  }

  /** A server has the configuration in its log that nobody had before: the one that begins the change is a leader. */
  wrote(server: LogView, entry: Entry): void {
    const { id, terms, term, commitIndex, role } = server;
    const next = this.#configurations.at(terms, entry.index);
    const previous = this.#configurations.at(terms, entry.index - 1);
    this.#checkVoters(id, previous, next);
    this.#checkIds(id, previous.configuration, next.configuration);
    if (role !== 'leader' || entry.term !== term) return;
    if (previous.index > commitIndex) {
      this.#report(
        'one-change-of-the-members-at-a-time',
        `server ${id} begins a change at entry ${entry.index}, when the one of entry ${previous.index} is not committed (${commitIndex} is)`,
      );
    }
    if (terms[commitIndex] === term) return;
    this.#report(
      'no-change-of-the-members-before-an-entry-of-the-own-term',
      `server ${id}, leader of term ${term}, begins a change at entry ${entry.index}, when entry ${commitIndex} of term ${terms[commitIndex]} is the last one that is committed`,
    );
  }

  granted(voter: number, candidate: number, term: number): void {
    const key = `${candidate} in ${term}`;
    const voters = this.#granted.get(key) ?? new Set();
    this.#granted.set(key, voters.add(voter));
  }

  /** A server stands for election. */
  stands({ id, terms, term, commitIndex }: LogView): void {
    if (this.#configurations.since(terms, commitIndex).some((each) => isVoter(each, id))) return;
    this.#report(
      'only-voters-stand-for-election',
      `server ${id} stands in term ${term}, and votes in no configuration that its log has from entry ${commitIndex} on`,
    );
  }

  /** A server begins to lead; `lastIndex`: the end of its log before. */
  elected({ id, terms, term }: LogView, lastIndex: number): void {
    const granted = this.#granted.get(`${id} in ${term}`);
    const { voters, index } = this.#configurations.at(terms, lastIndex);
    const short = voters.find((set) => !isMajority(set, (voter) => voter === id || granted?.has(voter) === true));
    if (short === undefined) return;
    this.#report(
      'leaders-are-elected-by-majorities-of-the-voters',
      `server ${id} leads term ${term} by the votes of itself and ${[...(granted ?? [])].join(', ')}; of the voters ${short?.join(', ')} in the configuration of entry ${index} that is no majority`,
    );
  }

  /** A configuration is committed, as a leader knows. */
  committed({ id, terms, commitIndex, role, term }: LogView): void {
    const { configuration, index } = this.#configurations.at(terms, commitIndex);
    if (role !== 'leader' || configuration === undefined || configuration.members.some((each) => each.id === id))
      return;
    this.#report(
      'a-leader-that-was-removed-leads-no-longer',
      `server ${id} goes on to lead term ${term}, when the configuration of entry ${index} without it is committed`,
    );
  }

  #checkVoters(id: number, previous: KnownConfiguration, next: KnownConfiguration): void {
    const [coming = [], going] = next.voters;
    const [now = [], left] = previous.voters;
    const legal = left === undefined ? sameIds(going ?? coming, now) : going === undefined && sameIds(coming, now);
    if (legal) return;
    this.#report(
      'voters-change-through-a-joint-configuration',
      `server ${id} writes a configuration with the voters ${show(next)} behind one with ${show(previous)}`,
    );
  }

  #checkIds(server: number, previous: Configuration | undefined, next: Configuration | undefined): void {
    if (next === undefined) return;
    const again = next.members.find(({ id }) => next.retired.includes(id) || previous?.retired.includes(id) === true);
    if (again !== undefined) {
      this.#report(
        'an-id-is-used-once',
        `server ${server} writes a configuration with server ${again.id}, which was removed`,
      );
    }
    for (const { id, incarnation } of previous?.members ?? []) {
      const member = next.members.find((each) => each.id === id);
      if (member === undefined && !next.retired.includes(id)) {
        this.#report(
          'an-id-is-used-once',
          `server ${server} writes a configuration that forgets that ${id} was a member`,
        );
      }
      if (member === undefined || incarnation === '' || member.incarnation === incarnation) continue;
      this.#report(
        'an-id-is-used-once',
        `server ${server} writes a configuration with another data directory of server ${id}`,
      );
    }
  }
}

function sameIds(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id) => other.includes(id));
}

function show({ voters }: KnownConfiguration): string {
  return voters.map((set) => set.join(', ')).join(' and, leaving, ');
}
