/**
 * One server of a transcript: the real core with a disk whose writes end when they are told to, and all that it does in words. What
 * waits for a write leaves when the write is done, and dies with the process.
 */

import {
  DEFAULT_RAFT_LIMITS,
  EntryType,
  LOG_START,
  NO_SERVER,
  configurationText,
  encodeConfiguration,
  entryText,
  logIndex,
  messageText,
  nextTerm,
  serverId,
  term,
  type Configuration,
  type Effect,
  type Entry,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type SnapshotPosition,
  type Term,
} from '../../../../src/core/index.ts';
import { bootOf, compactDisk, entriesOf, restartLog, writeTo, type CoreDisk, type Persist } from '../core-disk.ts';
import { ScriptedCore } from '../scripted-core.ts';

type Send = Extract<Effect, { type: 'send' }>;

/** What a server is among. */
export interface Surroundings {
  readonly servers: number;
  /** Of the servers that are members from the beginning. */
  readonly initial: Configuration;
  readonly config: Partial<RaftConfig>;
  say(line: string): void;
  post(from: number, to: number, message: Message): void;
}

const ELECTION_TIMEOUT_MS = DEFAULT_RAFT_LIMITS.electionTimeoutMs;

export class TranscriptServer {
  readonly id: number;
  readonly #around: Surroundings;
  readonly #disk: CoreDisk = {
    hardState: { term: term(0), votedFor: NO_SERVER },
    base: LOG_START,
    snapshot: undefined,
    entries: [],
  };
  #voteBan: Term | undefined;
  /** Undefined: the process is down. */
  #core: ScriptedCore | undefined;
  #writes: Persist[] = [];
  #held: Send[] = [];
  #durableSeq = 0;
  #applied = 0;
  /** In which it was asked to send each peer a snapshot. */
  readonly #snapshotTerms = new Map<number, Term>();

  constructor(id: number, around: Surroundings) {
    this.id = id;
    this.#around = around;
  }

  get up(): boolean {
    return this.#core !== undefined;
  }

  get writing(): boolean {
    return this.#writes.length > 0;
  }

  /** Connected to those of the others. */
  start(peers: readonly number[]): void {
    if (this.#core !== undefined) throw new RangeError(`server ${this.id} runs already`);
    const { servers, initial, config } = this.#around;
    restartLog(this.#disk);
    this.#writes = [];
    this.#held = [];
    this.#durableSeq = 0;
    this.#applied = this.#disk.snapshot?.index ?? 0;
    this.#snapshotTerms.clear();
    const boot = { ...bootOf(this.#disk), ...(this.#voteBan === undefined ? {} : { voteBan: this.#voteBan }) };
    // Whoever it is told to add begins as a member of nothing.
    const members = initial.members.some(({ id }) => id === this.id) ? initial : { ...initial, members: [] };
    this.#core = new ScriptedCore({ id: this.id, servers, boot, initial: members, connected: false, config });
    this.step(...peers.map((peer): RaftEvent => ({ type: 'peer-connected', peer: serverId(peer) })));
  }

  /** Writes under way are lost. */
  crash(): void {
    this.#running();
    this.#core = undefined;
  }

  /** Of a server that is down: the log has lost all but so many of its entries, and the vote with them. */
  damage(kept: number): void {
    if (this.#core !== undefined) throw new RangeError(`server ${this.id} runs`);
    const disk = this.#disk;
    this.#voteBan = nextTerm(disk.hardState.term);
    disk.entries.length = Math.min(disk.entries.length, kept);
    disk.hardState = { term: disk.entries.at(-1)?.term ?? disk.base.term, votedFor: NO_SERVER };
  }

  step(...events: RaftEvent[]): void {
    this.#carryOut(this.#running().step(...events));
  }

  hear(from: number, message: Message): void {
    this.step({ type: 'message', from: serverId(from), message });
  }

  /** Its election timeout passes. */
  campaign(): void {
    const core = this.#running();
    if (core.status.role === 'leader') throw new RangeError(`server ${this.id} leads already`);
    const { role, term: before } = core.status;
    const begun = (): boolean =>
      core.status.term !== before || (role !== 'pre-candidate' && core.status.role === 'pre-candidate');
    this.#carryOut(core.elapse(2 * ELECTION_TIMEOUT_MS, begun));
  }

  get leads(): boolean {
    return this.#core?.status.role === 'leader';
  }

  /** An election timeout passes in which it hears no leader, so that it sticks to none. */
  loseLeader(): void {
    const core = this.#running();
    if (core.status.role === 'follower' && core.status.leader !== NO_SERVER) this.wait(ELECTION_TIMEOUT_MS);
  }

  wait(ms: number): void {
    this.#carryOut(this.#running().elapse(ms));
  }

  persist(): void {
    const next = this.#writes.shift();
    if (next === undefined) throw new RangeError(`server ${this.id} has no write under way`);
    writeTo(this.#disk, next);
    this.#durableSeq = next.seq;
    const ready = this.#held.filter(({ after }) => (after ?? 0) <= next.seq);
    this.#held = this.#held.filter(({ after }) => (after ?? 0) > next.seq);
    for (const { to, message } of ready) this.#post(to, message);
    this.step({ type: 'persisted', seq: next.seq });
  }

  /** Of all that is applied; the log forgets as much. */
  takeSnapshot(): void {
    const { core } = this.#running();
    const index = logIndex(this.#applied);
    const entryTerm = core.termAt(index);
    if (entryTerm === undefined) throw new RangeError(`server ${this.id} has applied nothing that its log knows`);
    const { configuration } = core.configurationAsOf(index);
    this.#disk.snapshot = { index, term: entryTerm, configuration: encodeConfiguration(configuration) };
    this.#say(`has a snapshot up to ${index}·${entryTerm} with the members ${configurationText(configuration)}`);
    this.step({ type: 'snapshot-taken', position: { index, term: entryTerm }, compactTo: index });
  }

  /** What a peer is to receive, in which term. */
  snapshotFor(peer: number): { readonly position: SnapshotPosition; readonly term: Term } {
    const inTerm = this.#snapshotTerms.get(peer);
    const position = this.#disk.snapshot;
    if (inTerm === undefined || position === undefined)
      throw new RangeError(`server ${this.id} was not asked to send ${peer} a snapshot`);
    return { position, term: inTerm };
  }

  receiveSnapshot(from: number, position: SnapshotPosition, inTerm: Term): void {
    if (position.index > (this.#disk.snapshot?.index ?? 0)) this.#disk.snapshot = position;
    this.step({ type: 'snapshot-received', from: serverId(from), term: inTerm, position });
  }

  /** What it is, and what it has. */
  get text(): string {
    const durable = logText(this.#disk);
    if (this.#core === undefined) return `is down, on disk ${durable}`;
    const { role, term: present, votedFor, leader, commitIndex } = this.#core.status;
    const follows = role === 'follower' && leader !== NO_SERVER ? ` of ${leader}` : '';
    const vote = votedFor === NO_SERVER || role === 'leader' ? '' : `, vote for ${votedFor}`;
    const ban = this.#voteBan === undefined ? '' : `, banned from voting since term ${this.#voteBan}`;
    const written: CoreDisk = { ...this.#disk, entries: [...this.#disk.entries] };
    for (const write of this.#writes) writeTo(written, write);
    const whole = logText(written);
    const log = whole === durable ? whole : `${whole}, on disk ${durable}`;
    return `is ${role}${follows} in term ${present}${vote}${ban}, log ${log}, commit ${commitIndex}`;
  }

  /** Those of the configuration in force there. */
  get members(): string {
    return this.#core === undefined ? '' : configurationText(this.#core.core.configuration.configuration);
  }

  #running(): ScriptedCore {
    if (this.#core === undefined) throw new RangeError(`server ${this.id} is down`);
    return this.#core;
  }

  #say(text: string): void {
    this.#around.say(`${this.id} ${text}`);
  }

  #post(to: number, message: Message): void {
    this.#say(`to ${to}: ${messageText(message)}`);
    this.#around.post(this.id, to, message);
  }

  #carryOut(effects: readonly Effect[]): void {
    const follow: RaftEvent[] = [];
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          this.#writes.push(effect);
          this.#say(`begins write ${effect.seq}: ${writeText(effect)}`);
          break;
        case 'send':
          if (effect.after === undefined || effect.after <= this.#durableSeq) this.#post(effect.to, effect.message);
          else {
            this.#held.push(effect);
            this.#say(`to ${effect.to}, after write ${effect.after}: ${messageText(effect.message)}`);
          }
          break;
        case 'apply':
          this.#applied = effect.upTo;
          this.#say(`applies up to ${effect.upTo}`);
          follow.push({ type: 'applied', index: effect.upTo });
          break;
        case 'restore':
          this.#applied = effect.position.index;
          this.#say(`takes the state of the snapshot up to ${effect.position.index}·${effect.position.term}`);
          break;
        case 'compact':
          compactDisk(this.#disk, effect.upTo);
          this.#say(`forgets its log up to ${effect.upTo}`);
          break;
        case 'send-snapshot':
          this.#snapshotTerms.set(effect.peer, effect.term);
          this.#say(`has nothing but a snapshot for ${effect.peer}`);
          break;
        case 'read-entries': {
          const entries = entriesOf(this.#disk, effect.from, effect.to);
          this.#say(`reads entries ${effect.from} to ${effect.to} for ${effect.peer}`);
          follow.push({ type: 'entries-read', peer: effect.peer, term: effect.term, entries });
          break;
        }
        case 'lift-vote-ban':
          this.#voteBan = undefined;
          this.#say('may vote again');
          break;
        case 'read-ready':
        case 'read-rejected':
        case 'proposals-rejected':
        case 'membership-ended':
        case 'transfer-ended':
          this.#say(answerText(effect));
      }
    }
    if (follow.length > 0) this.step(...follow);
  }
}

function writeText({ hardState, snapshot, truncateFrom, entries }: Persist): string {
  const parts: string[] = [];
  if (hardState !== undefined) parts.push(`term ${hardState.term}, vote ${hardState.votedFor || 'for nobody'}`);
  if (snapshot !== undefined) parts.push(`a log behind ${snapshot.index}·${snapshot.term}`);
  if (truncateFrom !== undefined) parts.push(`nothing from ${truncateFrom} on`);
  if (entries.length > 0) parts.push(`entries ${entries.map(entryText).join(' ')}`);
  return parts.join('; ');
}

function logText({ base, entries }: CoreDisk): string {
  const behind = base.index === 0 ? '' : `behind ${base.index}·${base.term} `;
  return `${behind}[${entries.map(shortText).join(' ')}]`;
}

/** The members were told when it was written. */
function shortText(entry: Entry): string {
  return entry.type === EntryType.configuration ? `${entry.index}·${entry.term}{…}` : entryText(entry);
}

type Answer = Extract<
  Effect,
  { type: 'read-ready' | 'read-rejected' | 'proposals-rejected' | 'membership-ended' | 'transfer-ended' }
>;

function answerText(effect: Answer): string {
  switch (effect.type) {
    case 'read-ready':
      return `answers read ${effect.tickets.join(', ')} as of ${effect.index}`;
    case 'read-rejected':
      return `refuses read ${effect.tickets.join(', ')}: ${effect.reason}`;
    case 'proposals-rejected':
      return `refuses ${effect.commands.length} commands: ${effect.reason}`;
    case 'membership-ended': {
      const { outcome } = effect;
      const how =
        outcome.type === 'changed' ? ` at ${outcome.index}` : outcome.type === 'refused' ? `: ${outcome.reason}` : '';
      return `says of the change: ${outcome.type}${how}`;
    }
    case 'transfer-ended':
      return `says of the transfer: ${effect.outcome}`;
  }
}
