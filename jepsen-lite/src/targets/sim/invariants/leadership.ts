/**
 * What must happen to a leader, and what it must not wait for: one that hears no quorum, or whose disk hangs, leads no longer; a voter
 * that it does not hear does not count for the removal of another; no run of commits waits for a follower that is deferred longer than the
 * others while these answer. Each bound is twice what the product promises. Time is counted as there, in steps of a heartbeat interval
 * at most: a process that stands still notices nothing.
 */

import { EntryType, type Effect, type Message, type RaftEvent, type WriteSeq } from '@holdfast/raft';
import { isMajority, type KnownConfiguration } from './configurations.ts';
import type { CoreView } from './observed-server.ts';
import type { Report } from '../../../checkers/violation.ts';

type LeaderView = CoreView & { readonly quorumLost: boolean; readonly diskStalls: boolean };

/** As the servers are told. */
export interface LeadershipLimits {
  readonly heartbeatMs: number;
  readonly electionTimeoutMs: number;
  readonly diskStallMs: number;
  /** Appends with entries that may be unanswered by one follower: its window. */
  readonly maxInflightMessages: number;
}

/** Of the log of a server that has taken a step. */
export interface LogEnds {
  /** In force at the end of what it has in memory. */
  readonly configuration: KnownConfiguration;
  /** The end of what it has on disk. */
  readonly durableIndex: number;
}

export interface LeadershipCounts {
  /** Leaders that stepped down since they heard no quorum, or since their disk hung. */
  readonly quorumsLost: number;
  readonly disksHung: number;
  /** Commits that were made by a follower from whom their entry had been kept. */
  readonly deferredCommits: number;
}

/** An entry that a follower was sent so much later than the leader had it was kept from it; less than the product's delay of 10 ms. */
const DEFERRED_MS = 5;
/** Commits in a row by followers from whom they were kept; after eight by one of them the product tells that one at once. */
const MAX_DEFERRED_COMMITS = 24;

/** Entries up to there that a leader has had since then. */
interface Appended {
  readonly upTo: number;
  readonly atMs: number;
}

/** Entries up to there that a leader has sent for the first time. */
interface Sending {
  readonly upTo: number;
  readonly atMs: number;
  /** The follower's window was full until then; what came before had to wait. */
  readonly openSinceMs: number;
}

/** What a leader has sent to a follower. */
interface Sent {
  sendings: Sending[];
  /** The ends of the appends that it has not answered. */
  unanswered: number[];
  openSinceMs: number;
}

class ObservedLeader {
  /** Counted in clamped steps. */
  countedMs = 0;
  nowMs: number | undefined;
  role = 'down';
  term = 0;
  commit = 0;
  lastIndex = 0;
  configuration: KnownConfiguration | undefined;
  ledSinceMs = 0;
  /** When each follower was heard last in this leadership. */
  readonly heardMs = new Map<number, number>();
  /** Writes under way, and for how long none has ended. */
  readonly writes: WriteSeq[] = [];
  writeWaitMs = 0;
  /** When it appended the entries that are not committed yet, by the last of each batch. */
  appended: Appended[] = [];
  sent = new Map<number, Sent>();
  /** Who has acknowledged what in this step. */
  acknowledged: { readonly from: number; readonly upTo: number }[] = [];
  deferredCommits = 0;

  forget(): void {
    this.heardMs.clear();
    this.appended = [];
    this.sent = new Map();
    this.deferredCommits = 0;
  }
}

export class LeadershipInvariants {
  readonly #limits: LeadershipLimits;
  readonly #report: Report;
  readonly #servers = new Map<number, ObservedLeader>();
  readonly counts = { quorumsLost: 0, disksHung: 0, deferredCommits: 0 };

  constructor(limits: LeadershipLimits, report: Report) {
    this.#limits = limits;
    this.#report = report;
  }

  stepping(id: number, events: readonly RaftEvent[], nowMs: number): void {
    const server = this.#server(id);
    const elapsedMs = Math.min(nowMs - (server.nowMs ?? nowMs), this.#limits.heartbeatMs);
    server.nowMs = nowMs;
    server.countedMs += elapsedMs;
    server.writeWaitMs = server.writes.length > 0 ? server.writeWaitMs + elapsedMs : 0;
    server.acknowledged = [];
    for (const event of events) {
      if (event.type === 'disk-worked') server.writeWaitMs = 0;
      if (event.type === 'message') this.#hear(server, event.from, event.message);
    }
  }

  stepped(id: number, effects: readonly Effect[], core: LeaderView, ends: LogEnds): void {
    const server = this.#server(id);
    if (core.role !== server.role || core.term !== server.term) {
      if (server.role === 'leader' && core.quorumLost) this.counts.quorumsLost += 1;
      if (server.role === 'leader' && core.role === 'follower' && core.diskStalls) this.counts.disksHung += 1;
      server.forget();
      if (core.role === 'leader') server.ledSinceMs = server.countedMs;
    }
    Object.assign(server, { role: core.role, term: core.term });
    for (const effect of effects) if (effect.type === 'persist') server.writes.push(effect.seq);
    if (core.role === 'leader') {
      if (effects.some((effect) => begins(effect, core.term))) this.#checkRemoval(id, server, ends);
      this.#checkQuorum(id, server, ends.configuration);
      this.#checkDisk(id, server, ends.configuration);
      this.#checkCommit(id, server, core, ends);
    }
    server.commit = core.commitIndex;
    server.lastIndex = core.lastIndex;
    server.configuration = ends.configuration;
  }

  sending(id: number, to: number, message: Message): void {
    const server = this.#server(id);
    if (message.type !== 'append' || message.entries.length === 0 || server.role !== 'leader') return;
    const upTo = message.prevIndex + message.entries.length;
    const sent = server.sent.get(to) ?? { sendings: [], unanswered: [], openSinceMs: 0 };
    server.sent.set(to, sent);
    sent.unanswered.push(upTo);
    const { sendings, openSinceMs } = sent;
    if (upTo > (sendings.at(-1)?.upTo ?? 0)) sendings.push({ upTo, atMs: server.nowMs ?? 0, openSinceMs });
  }

  persisted(id: number, seq: WriteSeq): void {
    const server = this.#server(id);
    while ((server.writes[0] ?? Infinity) <= seq) server.writes.shift();
    server.writeWaitMs = 0;
  }

  down(id: number): void {
    this.#servers.delete(id);
  }

  #server(id: number): ObservedLeader {
    const server = this.#servers.get(id) ?? new ObservedLeader();
    this.#servers.set(id, server);
    return server;
  }

  /** Answers in its own term alone tell a leader that it leads somebody. */
  #hear(server: ObservedLeader, from: number, message: Message): void {
    if (message.type !== 'append-response' && message.type !== 'heartbeat-response') return;
    if (server.role !== 'leader' || message.term !== server.term) return;
    server.heardMs.set(from, server.countedMs);
    if (message.type !== 'append-response') return;
    if (message.accepted) server.acknowledged.push({ from, upTo: message.index });
    const sent = server.sent.get(from);
    if (sent === undefined) return;
    const wasFull = sent.unanswered.length >= this.#limits.maxInflightMessages;
    // A refusal begins anew: what was sent after it is refused as well.
    sent.unanswered = message.accepted ? sent.unanswered.filter((upTo) => upTo > message.index) : [];
    if (wasFull && sent.unanswered.length < this.#limits.maxInflightMessages) sent.openSinceMs = server.nowMs ?? 0;
  }

  #silentMs(id: number, server: ObservedLeader, voter: number): number {
    if (voter === id) return 0;
    return server.countedMs - Math.max(server.heardMs.get(voter) ?? 0, server.ledSinceMs);
  }

  #hears(id: number, server: ObservedLeader, voter: number): boolean {
    return this.#silentMs(id, server, voter) <= 2 * this.#limits.electionTimeoutMs;
  }

  #checkQuorum(id: number, server: ObservedLeader, { voters }: KnownConfiguration): void {
    const silent = voters.find((set) => !isMajority(set, (voter) => this.#hears(id, server, voter)));
    if (silent === undefined) return;
    const silence = silent.map((voter) => `${voter}: ${Math.round(this.#silentMs(id, server, voter))} ms`);
    this.#report(
      'a-leader-hears-a-quorum',
      `server ${id} goes on to lead term ${server.term}, when its voters are silent for (${silence.join(', ')})`,
    );
  }

  /** A server that is alone leads on: nobody could take over. */
  #checkDisk(id: number, server: ObservedLeader, { voters }: KnownConfiguration): void {
    if (server.writeWaitMs <= 2 * this.#limits.diskStallMs || voters.flat().every((voter) => voter === id)) return;
    this.#report(
      'a-leader-whose-disk-hangs-leads-no-longer',
      `server ${id} goes on to lead term ${server.term}, when none of its writes has ended for ${Math.round(server.writeWaitMs)} ms`,
    );
  }

  /** What is left of the voters must be able to decide, as far as the leader can know. */
  #checkRemoval(id: number, server: ObservedLeader, { configuration }: LogEnds): void {
    const [coming = [], going] = configuration.voters;
    const before = server.configuration?.voters ?? [];
    const removes = going !== undefined && before.length === 1 && coming.length < going.length;
    if (!removes || isMajority(coming, (voter) => this.#hears(id, server, voter))) return;
    const silent = coming.filter((voter) => !this.#hears(id, server, voter));
    this.#report(
      'a-silent-voter-does-not-count-for-a-removal',
      `server ${id} leaves the voters ${coming.join(', ')}, of whom it has not heard ${silent.join(', ')} for two election timeouts`,
    );
  }

  #checkCommit(id: number, server: ObservedLeader, core: CoreView, { configuration, durableIndex }: LogEnds): void {
    const nowMs = server.nowMs ?? 0;
    if (core.lastIndex > server.lastIndex) server.appended.push({ upTo: core.lastIndex, atMs: nowMs });
    const { commitIndex } = core;
    if (commitIndex <= server.commit) return;
    const appendedMs = server.appended.find(({ upTo }) => upTo >= commitIndex)?.atMs ?? nowMs;
    const committers = server.acknowledged.filter(({ upTo }) => upTo >= commitIndex);
    const deferred = committers.every(({ from }) => {
      const sending = server.sent.get(from)?.sendings.find(({ upTo }) => upTo >= commitIndex);
      return (sending?.atMs ?? nowMs) - Math.max(appendedMs, sending?.openSinceMs ?? 0) >= DEFERRED_MS;
    });
    server.appended = server.appended.filter(({ upTo }) => upTo > commitIndex);
    for (const sent of server.sent.values()) {
      sent.sendings = sent.sendings.filter(({ upTo }, n, { length }) => upTo > commitIndex || n === length - 1);
    }
    // Its own disk may be what was waited for, and one who is not heard may be why everybody is told.
    const voters = configuration.voters.flat();
    const allHeard = voters.every((voter) => this.#silentMs(id, server, voter) <= this.#limits.electionTimeoutMs);
    if (committers.length === 0 || durableIndex < commitIndex || !allHeard) return;
    if (!deferred) {
      server.deferredCommits = 0;
      return;
    }
    this.counts.deferredCommits += 1;
    server.deferredCommits += 1;
    if (server.deferredCommits <= MAX_DEFERRED_COMMITS) return;
    this.#report(
      'commits-do-not-wait-for-a-deferred-follower',
      `server ${id}, leader of term ${server.term}, made ${server.deferredCommits} commits in a row when a follower answered that it had deferred, the last of entry ${commitIndex} by ${committers.map(({ from }) => from).join(', ')}`,
    );
  }
}

function begins(effect: Effect, term: number): boolean {
  if (effect.type !== 'persist') return false;
  return effect.entries.some((entry) => entry.type === EntryType.configuration && entry.term === term);
}
