/**
 * What Raft promises, judged from outside with every step of any server. The majorities are counted here once more, from logs and disks;
 * an invariant with which the core stops itself counts as well.
 */

import type { History } from './history.ts';
import type { Broken, Electorate, ServerTable, Step } from './server/server-table.ts';

/** One step of one server. */
export interface Judged {
  /** Of all servers before it, by number. */
  readonly servers: ArrayLike<number>;
  readonly position: number;
  readonly step: Step;
  /** Of a read that the step asks for. */
  readonly ticket: number | undefined;
}

export type Verdict =
  | { readonly history: History; readonly broken: undefined }
  | { readonly history: undefined; readonly broken: Broken };

class BrokenLaw {
  readonly broken: Broken;

  constructor(law: string, message: string) {
    this.broken = { law, message };
  }
}

/** What is looked at. */
export type Facts = Pick<ServerTable, 'known' | 'log' | 'entry'>;

export class Laws {
  readonly #table: Facts;
  readonly #durable: boolean;
  /** Pairs of logs that were compared. */
  readonly #matching = new Map<number, boolean>();

  /** `durable`: no disk ever loses anything. */
  constructor(table: Facts, { durable }: { readonly durable: boolean }) {
    this.#table = table;
    this.#durable = durable;
  }

  judge(judged: Judged, history: History): Verdict {
    const { step } = judged;
    if (step.broken !== undefined) return { history: undefined, broken: step.broken };
    const law =
      this.#logsMatch(judged) ??
      (this.#durable ? this.#commitsByQuorums(judged) : undefined) ??
      this.#electedByQuorums(judged, history) ??
      this.#electionSafety(judged, history) ??
      this.#removedLeadNobody(judged) ??
      this.#stateMachineSafety(judged, history) ??
      this.#readsAreFresh(judged, history);
    if (law !== undefined) return { history: undefined, broken: law.broken };
    const next = this.#remember(judged, history);
    const incomplete = this.#leadersAreComplete(judged, history, next);
    return incomplete === undefined
      ? { history: next, broken: undefined }
      : { history: undefined, broken: incomplete.broken };
  }

  /** Whether the step can be judged without a look at anything else. */
  isQuiet({ servers, position, step, ticket }: Judged): boolean {
    if (step.broken !== undefined || step.applied.length > 0 || step.answered.length > 0 || ticket !== undefined)
      return false;
    const before = this.#table.known(servers[position] ?? 0);
    const after = this.#table.known(step.next);
    return before.log === after.log && before.leads === after.leads && before.commit === after.commit;
  }

  #remember({ servers, position, step, ticket }: Judged, history: History): History {
    const { leads, term } = this.#table.known(step.next);
    const leaders = [...history.leaders];
    while (leads > 0 && leaders.length <= leads) leaders.push(-1);
    if (leads > 0) leaders[leads] = position;
    const committed = [...history.committed];
    const committedIn = [...history.committedIn];
    for (const entry of step.applied) {
      const { index } = this.#table.entry(entry);
      if (index <= committed.length) continue;
      committed.push(entry);
      committedIn.push(term);
    }
    const reads = [...history.reads];
    while (ticket !== undefined && reads.length <= ticket) reads.push(-1);
    // Not when the server refuses it at once.
    if (ticket !== undefined && servers[position] !== step.next) reads[ticket] = history.committed.length;
    for (const answer of step.answered) reads[answer.ticket] = -1;
    return { leaders, committed, committedIn, reads };
  }

  #electionSafety({ position, step }: Judged, { leaders }: History): BrokenLaw | undefined {
    const { leads, id } = this.#table.known(step.next);
    const earlier = leads === 0 ? -1 : (leaders[leads] ?? -1);
    if (earlier < 0 || earlier === position) return undefined;
    return new BrokenLaw('election-safety', `servers ${earlier + 1} and ${id} both lead in term ${leads}`);
  }

  /** A leader that removes itself leads until that is committed. */
  #removedLeadNobody({ position, step }: Judged): BrokenLaw | undefined {
    const { leads, id, commit, electorates } = this.#table.known(step.next);
    const committed = electorates.findLast(({ index }) => index <= commit);
    if (leads === 0 || committed === undefined || committed.members.includes(position)) return undefined;
    return new BrokenLaw(
      'removed-servers-lead-nobody',
      `server ${id} leads in term ${leads}, and has committed the configuration at ${committed.index}, of which it is no member`,
    );
  }

  /** Those who begin to lead, and those who led when something was committed behind their backs. */
  #leadersAreComplete({ servers, position, step }: Judged, before: History, after: History): BrokenLaw | undefined {
    const fresh = after.committed.length > before.committed.length;
    for (let at = 0; at < servers.length; at += 1) {
      const known = this.#table.known(at === position ? step.next : (servers[at] ?? 0));
      const begins = at === position && known.leads > 0 && before.leaders[known.leads] !== position;
      if (known.leads === 0 || !(begins || fresh)) continue;
      const log = this.#table.log(known.log);
      for (const [place, entry] of after.committed.entries()) {
        if ((after.committedIn[place] ?? 0) >= known.leads || log[place] === entry) continue;
        return new BrokenLaw(
          'leader-completeness',
          `server ${known.id} leads in term ${known.leads} without the entry at ${place + 1}, which was committed in term ${after.committedIn[place]}`,
        );
      }
    }
    return undefined;
  }

  #stateMachineSafety({ step }: Judged, { committed }: History): BrokenLaw | undefined {
    for (const number of step.applied) {
      const { index, term } = this.#table.entry(number);
      const known = committed[index - 1];
      if (known === undefined || known === number) continue;
      return new BrokenLaw(
        'state-machine-safety',
        `server ${this.#table.known(step.next).id} applies an entry of term ${term} at ${index}, where one of term ${this.#table.entry(known).term} was applied`,
      );
    }
    return undefined;
  }

  #logsMatch({ servers, position, step }: Judged): BrokenLaw | undefined {
    const own = this.#table.known(step.next);
    for (let at = 0; at < servers.length; at += 1) {
      if (at === position) continue;
      const other = this.#table.known(servers[at] ?? 0);
      if (this.#match(own.log, other.log)) continue;
      return new BrokenLaw(
        'log-matching',
        `the logs of servers ${own.id} and ${other.id} have an entry of one index and term, and differ before it`,
      );
    }
    return undefined;
  }

  #match(one: number, other: number): boolean {
    if (one === other) return true;
    const pair = Math.min(one, other) * 2 ** 26 + Math.max(one, other);
    let matching = this.#matching.get(pair);
    if (matching === undefined) {
      matching = this.#compare(this.#table.log(one), this.#table.log(other));
      this.#matching.set(pair, matching);
    }
    return matching;
  }

  /** Where the terms agree, all up to there does. */
  #compare(one: readonly number[], other: readonly number[]): boolean {
    let differ = false;
    for (let place = 0; place < Math.min(one.length, other.length); place += 1) {
      const [left, right] = [one[place] ?? 0, other[place] ?? 0];
      if (left !== right) differ = true;
      if (differ && this.#table.entry(left).term === this.#table.entry(right).term) return false;
    }
    return true;
  }

  /** What a leader commits is on the disks of a majority of every set of voters. */
  #commitsByQuorums({ servers, position, step }: Judged): BrokenLaw | undefined {
    const before = this.#table.known(servers[position] ?? 0);
    const after = this.#table.known(step.next);
    if (after.leads === 0 || before.leads !== after.leads) return undefined;
    for (let index = before.commit + 1; index <= after.commit; index += 1) {
      const entry = this.#table.log(after.log)[index - 1];
      const holds = (voter: number): boolean => {
        const { durable } = voter === position ? after : this.#table.known(servers[voter] ?? 0);
        return this.#table.log(durable)[index - 1] === entry;
      };
      if (deciding(after.electorates, index).some((electorate) => byQuorums(electorate, holds))) continue;
      return new BrokenLaw(
        'committed-is-durable-on-a-majority',
        `server ${after.id} commits ${index}, which is not on the disks of a majority of every set of voters`,
      );
    }
    return undefined;
  }

  /** A server may have voted for another leader meanwhile, in a later term. */
  #electedByQuorums({ servers, position, step }: Judged, { leaders }: History): BrokenLaw | undefined {
    const before = this.#table.known(servers[position] ?? 0);
    const after = this.#table.known(step.next);
    if (after.leads === 0 || (leaders[after.leads] ?? -1) >= 0) return undefined;
    const voted = (voter: number): boolean => {
      const { durableTerm, durableVote } = voter === position ? after : this.#table.known(servers[voter] ?? 0);
      return durableTerm > after.leads || (durableTerm === after.leads && durableVote === after.id);
    };
    if (before.electorates.slice(-1).every((electorate) => byQuorums(electorate, voted))) return undefined;
    return new BrokenLaw(
      'leaders-are-elected-by-majorities',
      `server ${after.id} leads in term ${after.leads} without the durable votes of a majority of every set of voters`,
    );
  }

  #readsAreFresh({ step, ticket: asked }: Judged, { reads, committed }: History): BrokenLaw | undefined {
    for (const { ticket, index } of step.answered) {
      const atLeast = ticket === asked ? committed.length : (reads[ticket] ?? -1);
      if (index >= atLeast) continue;
      return new BrokenLaw(
        'no-stale-read',
        `server ${this.#table.known(step.next).id} lets a read go on at ${index}, when ${atLeast} was committed before it was asked`,
      );
    }
    return undefined;
  }
}

/**
 * Those by which an entry may be committed: the electorate of its place, or one that came later. A configuration is committed by its own,
 * since nothing else changes the members until it is.
 */
function deciding(electorates: readonly Electorate[], index: number): readonly Electorate[] {
  const at = electorates.findLastIndex((electorate) => electorate.index <= index);
  return electorates[at]?.index === index ? electorates.slice(at, at + 1) : electorates.slice(at);
}

function byQuorums({ voterSets }: Electorate, holds: (voter: number) => boolean): boolean {
  return voterSets.every((voters) => voters.filter((voter) => holds(voter)).length * 2 > voters.length);
}
