/**
 * Raft's own promises, looked at after every step of every server: election safety, leader append-only, log matching, leader
 * completeness, state-machine safety; term, vote, commit index and applied index that never fall, restarts included; nothing revealed
 * before it is durable; nothing committed that is not durable on a majority of the voters of its configuration (of both, while it is
 * joint); everything durable found again. What is promised of the members' changes is membership.ts's, of a log that was damaged
 * vote-ban.ts's.
 */

import {
  EntryType,
  type DurableState,
  type Effect,
  type Entry,
  type LogPosition,
  type Message,
  type ServerId,
  type WriteSeq,
} from '@holdfast/raft';
import { Configurations, isMajority, type KnownConfiguration } from './configurations.ts';
import type { LogEnds } from './leadership.ts';
import { LogMatching } from './log-matching.ts';
import { MembershipInvariants, type LogView } from './membership.ts';
import { ObservedServer, type CoreView } from './observed-server.ts';
import { checkRevealed } from './revealed.ts';
import { imageOf, type Persist } from './server-log.ts';
import type { Report } from '../../../checkers/violation.ts';
import { beginBan, checkBan, checkBanTerm, countsFor } from './vote-ban.ts';

export class ConsensusInvariants {
  readonly #servers: ReadonlyMap<number, ObservedServer>;
  readonly #report: Report;
  readonly #leaders = new Map<number, string>();
  readonly #entries: LogMatching;
  readonly #configurations: Configurations;
  readonly #membership: MembershipInvariants;
  /** Terms of the committed entries, by index. */
  readonly #committed: number[] = [0];
  /** In which term each of them was committed first: it may be of an earlier one. */
  readonly #committedIn: number[] = [0];
  elections = 0;
  snapshotsTaken = 0;
  /** Received from a leader, in place of a log that ended before them. */
  snapshotsInstalled = 0;

  /** `voters`: those that the cluster begins with, of the servers that take part. @default all */
  constructor(servers: readonly number[], report: Report, voters: readonly number[] = servers) {
    this.#configurations = new Configurations(voters);
    this.#membership = new MembershipInvariants(this.#configurations, report);
    this.#servers = new Map(servers.map((id) => [id, new ObservedServer(this.#committed)]));
    this.#entries = new LogMatching(report);
    this.#report = report;
  }

  get committedEntries(): number {
    return this.#committed.length - 1;
  }

  /** The terms of the entries that a server has in memory, by index. */
  logOf(id: number): readonly number[] {
    return this.#server(id).log.memory.terms;
  }

  /** Where its log ends, in memory and on disk. */
  endsOf(id: number): LogEnds {
    const { memory, durable } = this.#server(id).log;
    const configuration = this.#configurations.at(memory.terms, memory.lastIndex);
    return { configuration, durableIndex: durable.lastIndex };
  }

  /** Who leads the highest term, as far as it knows. */
  get leader(): number | undefined {
    let leader: number | undefined;
    let term = 0;
    for (const [id, server] of this.#servers) {
      if (server.role === 'leader' && server.term > term) [leader, term] = [id, server.term];
    }
    return leader;
  }

  /** The last one that is committed. */
  get configuration(): KnownConfiguration {
    return this.#configurations.at(this.#committed, this.committedEntries);
  }

  /** Its disk is replaced by an empty one. */
  lostDisk(id: number): void {
    this.#server(id).diskLost = true;
  }

  /** Whether each of them would find, after a power failure, which data directory is that server's. */
  directoryIsKnown(id: number, by: readonly number[]): boolean {
    const { configuration, index } = this.configuration;
    const known = configuration?.members.find((member) => member.id === id)?.incarnation ?? '';
    return known !== '' && by.every((other) => this.#server(other).log.durable.terms[index] === this.#committed[index]);
  }

  /** `damaged`: a fault has altered its log, so that it may have been cut, under a ban on voting. */
  opened(id: number, durable: DurableState, damaged = false): void {
    const server = this.#server(id);
    if (server.diskLost) return;
    const found = imageOf(durable);
    const { term: lastTerm } = server.log.durable;
    const terms = [...server.log.durable.terms];
    const expected = server.log.opened(found, durable.snapshot?.index ?? 0);
    if (expected !== undefined && damaged && durable.voteBan !== undefined) {
      beginBan(server, this.committedEntries, terms);
      checkBanTerm(id, durable.voteBan, lastTerm, this.#report);
    } else if (expected !== undefined) {
      this.#report(
        'durable-is-found-again',
        `server ${id} starts with ${found.toString()}; durable was at least ${expected}`,
      );
    }
    Object.assign(server, { role: 'follower', term: found.term, votedFor: found.votedFor, commit: 0, applied: 0 });
    if (durable.snapshot !== undefined) this.#checkSnapshot(id, durable.snapshot);
    server.boots += 1;
    server.built.clear();
  }

  stepped(id: number, effects: readonly Effect[], core: CoreView): void {
    const server = this.#server(id);
    if (server.diskLost) {
      this.#checkNoPlace(id, core.role === 'leader', `leads term ${core.term}`);
      return;
    }
    const lastIndexBefore = server.log.memory.lastIndex;
    for (const effect of effects) {
      if (effect.type === 'persist') this.#persist(id, server, effect, core);
      if (effect.type === 'restore') this.#checkBuilt(id, server, effect.position.index);
    }
    if (core.lastIndex !== server.log.memory.lastIndex) {
      this.#report('every-change-of-the-log-is-written', `server ${id} has ${core.lastIndex} entries in memory alone`);
    }
    this.#checkMonotone(id, server, core);
    const sameRole = server.role === core.role && server.term === core.term;
    if (core.role === 'candidate' && !sameRole) this.#membership.stands(logView(id, server, core));
    if (core.role === 'leader' && !sameRole) {
      this.#elected(id, server, core);
      this.#membership.elected(logView(id, server, core), lastIndexBefore);
    }
    server.role = core.role;
    server.term = core.term;
    server.votedFor = core.votedFor;
    const changed = this.#advanceCommit(id, server, core.commitIndex, lastIndexBefore);
    if (changed) this.#membership.committed(logView(id, server, core));
  }

  persisted(id: number, seq: WriteSeq): void {
    const server = this.#server(id);
    if (!server.diskLost) server.log.persisted(seq);
  }

  snapshotTaken(id: number, position: LogPosition): void {
    this.snapshotsTaken += 1;
    this.#checkSnapshot(id, position);
  }

  /** The machine can have the state of that entry. */
  built(id: number, index: number): void {
    this.#server(id).built.add(index);
  }

  /** The machine has the state of that entry now. */
  restored(id: number, index: number): void {
    const server = this.#server(id);
    this.#checkNoPlace(id, server.diskLost, `restores the state of entry ${index}`);
    if (index < server.applied) {
      this.#report(
        'the-applied-index-never-falls',
        `server ${id} restores the state of ${index} after ${server.applied}`,
      );
    }
    server.applied = index;
  }

  sending(id: number, to: ServerId, message: Message): void {
    // A pre-vote reveals nothing: it asks about a term that nobody has.
    if (message.type === 'pre-vote' || message.type === 'pre-vote-response') return;
    const server = this.#server(id);
    if (server.diskLost) return;
    if (message.type === 'vote-response' && message.granted) this.#membership.granted(id, to, message.term);
    checkBan(id, server, this.#committed, message, this.#report);
    checkRevealed(id, server.log.durable, to, message, this.#report);
  }

  applied(id: number, entry: Entry): void {
    const server = this.#server(id);
    if (server.diskLost) {
      this.#checkNoPlace(id, true, `applies entry ${entry.index}`);
      return;
    }
    if (entry.index !== server.applied + 1) {
      this.#report('entries-are-applied-in-order', `server ${id} applies ${entry.index} after ${server.applied}`);
    }
    if (this.#committed[entry.index] !== entry.term || !this.#entries.has(entry)) {
      this.#report(
        'state-machine-safety',
        `server ${id} applies entry ${entry.index} of term ${entry.term}, which is not the committed one`,
      );
    }
    server.applied = entry.index;
  }

  down(id: number): void {
    this.#server(id).role = 'down';
  }

  #server(id: number): ObservedServer {
    const server = this.#servers.get(id);
    if (server === undefined) throw new TypeError(`there is no server ${id}`);
    return server;
  }

  #persist(id: number, server: ObservedServer, persist: Persist, core: CoreView): void {
    const { snapshot, truncateFrom } = persist;
    if (snapshot !== undefined) this.#checkReplacement(id, server, snapshot);
    if (truncateFrom !== undefined) this.#checkTruncation(id, server, truncateFrom, core);
    const { terms } = server.log.memory;
    const previousTerm = snapshot?.term ?? terms[(truncateFrom ?? Infinity) - 1] ?? terms.at(-1) ?? 0;
    this.#entries.written(id, persist.entries, previousTerm);
    server.log.write(persist);
    for (const entry of persist.entries) {
      if (entry.type !== EntryType.configuration || !this.#configurations.learn(entry)) continue;
      this.#membership.wrote(logView(id, server, core), entry);
    }
  }

  /** Nobody takes it for the server that had the first disk, so that it neither learns nor decides anything. */
  #checkNoPlace(id: number, has: boolean, what: string): void {
    if (has) this.#report('a-server-that-lost-its-disk-has-no-place', `server ${id}, on an empty disk, ${what}`);
  }

  #checkSnapshot(id: number, { index, term }: LogPosition): void {
    if (this.#committed[index] === term) return;
    this.#report(
      'a-snapshot-holds-what-is-committed',
      `server ${id} has a snapshot up to entry ${index} of term ${term}; committed is the one of term ${this.#committed[index]}`,
    );
  }

  #checkBuilt(id: number, { built }: ObservedServer, index: number): void {
    this.snapshotsInstalled += 1;
    if (built.has(index)) return;
    this.#report(
      'a-log-is-replaced-only-behind-a-state-that-was-built',
      `server ${id} lets go of its log for a snapshot of ${index}, which its machine has not looked at`,
    );
  }

  #checkReplacement(id: number, server: ObservedServer, snapshot: LogPosition): void {
    this.#checkSnapshot(id, snapshot);
    if (snapshot.index > server.commit && server.log.memory.terms[snapshot.index] !== snapshot.term) return;
    this.#report(
      'a-log-is-replaced-only-by-what-it-lacks',
      `server ${id}, which has committed ${server.commit}, replaces its log by a snapshot of ${snapshot.index}`,
    );
  }

  #checkTruncation(id: number, server: ObservedServer, from: number, core: CoreView): void {
    const { terms, lastIndex } = server.log.memory;
    // One that steps down may follow the next leader within the same step.
    if (server.role === 'leader' && core.role === 'leader') {
      this.#report('leader-append-only', `server ${id}, which leads term ${server.term}, removes entries from ${from}`);
    }
    for (let index = from; index <= Math.min(lastIndex, this.committedEntries); index += 1) {
      if (terms[index] === this.#committed[index]) {
        this.#report(
          'committed-entries-stay',
          `server ${id} removes the committed entry ${index} of term ${terms[index]}`,
        );
        return;
      }
    }
  }

  #checkMonotone(id: number, server: ObservedServer, core: CoreView): void {
    if (core.term < server.term)
      this.#report('the-term-never-falls', `server ${id}: ${server.term}, then ${core.term}`);
    if (core.term === server.term && server.votedFor !== 0 && core.votedFor !== server.votedFor) {
      this.#report(
        'one-vote-a-term',
        `server ${id} votes for ${core.votedFor} after ${server.votedFor} in term ${core.term}`,
      );
    }
    if (core.commitIndex < server.commit) {
      this.#report('the-commit-index-never-falls', `server ${id}: ${server.commit}, then ${core.commitIndex}`);
    }
  }

  #elected(id: number, server: ObservedServer, core: CoreView): void {
    this.elections += 1;
    const who = `${id}, boot ${server.boots}`;
    const other = this.#leaders.get(core.term);
    if (other !== undefined && other !== who) {
      this.#report('election-safety', `servers ${other} and ${who} both lead term ${core.term}`);
    }
    this.#leaders.set(core.term, who);
    const { terms } = server.log.memory;
    for (let index = this.committedEntries; index > 0; index -= 1) {
      if (terms[index] === this.#committed[index]) continue;
      // Late votes may elect a leader of an earlier term, which owes nothing to what later ones have committed.
      if ((this.#committedIn[index] ?? 0) >= core.term) continue;
      this.#report(
        'leader-completeness',
        `server ${id} leads term ${core.term} without the committed entry ${index} of term ${this.#committed[index]}`,
      );
      return;
    }
  }

  /** True when another configuration is committed, as far as that server knows. */
  #advanceCommit(id: number, server: ObservedServer, commitIndex: number, lastIndexBefore: number): boolean {
    const { terms } = server.log.memory;
    let changed = false;
    for (let index = server.commit + 1; index <= commitIndex; index += 1) {
      const term = terms[index];
      if (term === undefined) {
        this.#report(
          'committed-entries-exist',
          `server ${id} commits ${index} and has only ${terms.length - 1} entries`,
        );
        return changed;
      }
      if (this.#configurations.has(index)) changed = true;
      if (index > this.committedEntries) {
        this.#checkMajority(id, index, term, [lastIndexBefore, terms.length - 1]);
        this.#committed.push(term);
        this.#committedIn.push(server.term);
      } else if (this.#committed[index] !== term) {
        this.#report(
          'state-machine-safety',
          `server ${id} commits entry ${index} of term ${term}; committed is the one of term ${this.#committed[index]}`,
        );
      }
    }
    server.commit = commitIndex;
    return changed;
  }

  /**
   * Of the configuration in force at the end of the leader's log, which counts for entries before it as well. One that it began in the
   * same step counts from then on: `ends` are those of its log before the step and after it.
   */
  #checkMajority(id: number, index: number, term: number, ends: readonly number[]): void {
    const holders = new Set<number>();
    for (const [holder, server] of this.#servers) {
      if (countsFor(server, index, term)) holders.add(holder);
    }
    const { terms } = this.#server(id).log.memory;
    const short = (end: number): readonly number[] | undefined =>
      this.#configurations.at(terms, end).voters.find((voters) => !isMajority(voters, (voter) => holders.has(voter)));
    if (ends.some((end) => short(end) === undefined)) return;
    this.#report(
      'committed-is-durable-on-a-majority',
      `server ${id} commits entry ${index} of term ${term}, which only ${[...holders].join(', ')} have on disk; of the voters ${short(ends[0] ?? 0)?.join(', ')} that is no majority`,
    );
  }
}

function logView(id: number, { log }: ObservedServer, { term, commitIndex, role }: CoreView): LogView {
  return { id, terms: log.memory.terms, term, commitIndex, role };
}
