/**
 * One bare core of consensus with a disk of its own, whose time passes and whose writes complete only when it is told so. What it
 * sends is handed to `post` as soon as everything that it must wait for is durable, as a replica would do it.
 */

import {
  DEFAULT_RAFT_LIMITS,
  LOG_START,
  RaftCore,
  encodeConfiguration,
  initialConfiguration,
  logIndex,
  type CoreStatus,
  type Effect,
  type Entry,
  type LogIndex,
  type LogPosition,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type ServerId,
  type Term,
} from '@holdfast/raft/core';
import type { Random } from '@holdfast/runtime';

import type { Persist, Snapshot } from '../../../cores/disk.ts';
import { BareDisk } from './bare-disk.ts';

type Send = Extract<Effect, { type: 'send' }>;

/** What becomes known of a server while it takes its steps. */
export interface ServerEvents {
  post(from: BareServer, to: ServerId, message: Message): void;
  /** On another connection than messages. It may be lost, and is posted again when the two have connected anew. */
  postSnapshot(from: BareServer, to: ServerId, snapshot: Snapshot, inTerm: Term): void;
  applied(server: BareServer, entry: Entry): void;
  restored(server: BareServer, state: readonly Entry[]): void;
  readReady(server: BareServer, ticket: number, index: LogIndex): void;
  stepped(server: BareServer): void;
}

/** Small, so that every entry is an append of its own and a log is brought up to date in many steps. */
const APPEND_BYTES = 1;

export class BareServer {
  readonly id: ServerId;
  readonly #voters: readonly ServerId[];
  readonly #events: ServerEvents;
  readonly #config: RaftConfig;
  #core: RaftCore;
  #lives = 1;
  #nowMs = 0;
  readonly #disk = new BareDisk();
  #writes: Persist[] = [];
  #persistedSeq = 0;
  #held: Send[] = [];
  #applied: Entry[] = [];
  #queue: RaftEvent[] = [];
  /** Answers to appends get lost. */
  #mute = false;

  constructor(id: ServerId, voters: readonly ServerId[], seed: number, inflight: number, events: ServerEvents) {
    this.id = id;
    this.#voters = voters;
    this.#events = events;
    this.#config = {
      ...DEFAULT_RAFT_LIMITS,
      // Whom it tells when is the walk's choice.
      deferredFollowerDelayMs: 0,
      maxAppendBytes: APPEND_BYTES,
      maxInflightMessages: inflight,
      id,
      initial: initialConfiguration(voters.map((voter) => ({ id: voter, peerAddress: '' }))),
      seed: seed + id,
    };
    this.#core = this.#boot();
  }

  get status(): CoreStatus {
    return this.#core.status;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** The log as this server has it, on disk and on its way there. */
  log(): readonly Entry[] {
    return this.#disk.log(this.#writes);
  }

  /** As a leader that asks anew might send it, or one of another version: from any place of its log, with up to `most` entries. */
  anyAppend(random: Random, most: number): Message {
    const log = this.log();
    const prevIndex = logIndex(random.integer(log.length + 1));
    const prevTerm = log[prevIndex - 1]?.term ?? LOG_START.term;
    const entries = log.slice(prevIndex, prevIndex + random.integer(most + 1));
    return { type: 'append', term: this.status.term, prevIndex, prevTerm, commit: this.status.commitIndex, entries };
  }

  /** `answered`: whether what it answers to an append reaches anybody. */
  receive(from: ServerId, message: Message, answered: boolean): void {
    this.#mute = !answered;
    this.step({ type: 'message', from, message });
    this.#mute = false;
  }

  step(...events: readonly RaftEvent[]): void {
    this.#queue.push(...events);
    do {
      const group = this.#queue;
      this.#queue = [];
      for (const effect of this.#core.step(group, this.#nowMs)) this.#perform(effect);
      this.#events.stepped(this);
    } while (this.#queue.length > 0);
  }

  /** One heartbeat interval passes; `heeded`: and what is due then is done. */
  pass(heeded: boolean): void {
    this.#nowMs += this.#config.heartbeatMs;
    if (heeded && this.#nowMs >= this.#core.deadline) this.step({ type: 'deadline' });
    else this.step();
  }

  completeWrites(): void {
    const last = this.#writes.at(-1);
    if (last === undefined) return;
    for (const write of this.#writes) this.#disk.write(write);
    this.#writes = [];
    this.#persistedSeq = last.seq;
    this.step({ type: 'persisted', seq: last.seq });
    const held = this.#held;
    this.#held = [];
    for (const send of held) this.#send(send);
  }

  /** The process ends, with `finished` of the writes that were under way done, and starts again from its disk. */
  restart(finished: number): void {
    for (const write of this.#writes.slice(0, finished)) this.#disk.write(write);
    this.#writes = [];
    this.#held = [];
    this.#queue = [];
    this.#persistedSeq = 0;
    this.#lives += 1;
    this.#core = this.#boot();
    this.step(...this.#peers().map((peer) => ({ type: 'peer-connected', peer }) as const));
  }

  /** Of all that is applied, if all of it is durable; the last `spared` entries before it stay in the log. */
  takeSnapshot(spared: number): void {
    const index = logIndex(this.#applied.length);
    const term = this.#core.termAt(index);
    if (term === undefined || index > this.#core.stableIndex) return;
    if (index <= (this.#disk.snapshot?.position.index ?? 0)) return;
    const configuration = encodeConfiguration(this.#core.configurationAsOf(index).configuration);
    const position = { index, term, configuration };
    this.#disk.keep({ position, state: [...this.#applied] });
    this.step({ type: 'snapshot-taken', position, compactTo: logIndex(Math.max(0, index - spared)) });
  }

  receiveSnapshot(from: ServerId, snapshot: Snapshot, inTerm: Term): void {
    this.#disk.keep(snapshot);
    this.step({ type: 'snapshot-received', from, term: inTerm, position: snapshot.position });
  }

  /** To a peer that can be brought on by nothing else; what was under way to it is lost. */
  sendSnapshotAgain(peer: ServerId): void {
    if (this.#core.needsSnapshot(peer)) this.#sendSnapshot(peer, this.status.term);
  }

  get writesUnderWay(): number {
    return this.#writes.length;
  }

  #peers(): readonly ServerId[] {
    return this.#voters.filter((voter) => voter !== this.id);
  }

  #boot(): RaftCore {
    const boot = this.#disk.boot();
    this.#applied = [...(this.#disk.snapshot?.state ?? [])];
    return new RaftCore({ ...this.#config, seed: this.#config.seed + 1_000 * this.#lives }, boot, this.#nowMs);
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'persist':
        this.#writes.push(effect);
        return;
      case 'send':
        this.#send(effect);
        return;
      case 'apply':
        this.#apply(effect.upTo);
        return;
      case 'read-ready':
        for (const ticket of effect.tickets) this.#events.readReady(this, ticket, effect.index);
        return;
      case 'restore':
        this.#restore(effect.position);
        return;
      case 'compact':
        this.#disk.compact(effect.upTo);
        return;
      case 'send-snapshot':
        this.#sendSnapshot(effect.peer, effect.term);
        return;
      case 'lift-vote-ban':
        throw new TypeError('a server that never lost its log has its ban on voting lifted');
      case 'read-entries': {
        const { peer, term, from, to } = effect;
        this.#queue.push({ type: 'entries-read', peer, term, entries: this.#disk.entries(from, to).slice(0, 1) });
        return;
      }
      case 'read-rejected':
      case 'proposals-rejected':
      case 'transfer-ended':
      case 'membership-ended':
        return;
    }
  }

  #send(send: Send): void {
    if (this.#mute && send.message.type === 'append-response') return;
    if (send.after !== undefined && send.after > this.#persistedSeq) this.#held.push(send);
    else this.#events.post(this, send.to, send.message);
  }

  #sendSnapshot(peer: ServerId, inTerm: Term): void {
    const { snapshot } = this.#disk;
    if (snapshot === undefined) throw new TypeError(`server ${this.id} has forgotten entries that no snapshot holds`);
    this.#events.postSnapshot(this, peer, snapshot, inTerm);
  }

  #restore({ index }: LogPosition): void {
    const { snapshot } = this.#disk;
    if (snapshot?.position.index !== index) throw new TypeError(`server ${this.id} has no snapshot of ${index}`);
    this.#applied = [...snapshot.state];
    this.#events.restored(this, snapshot.state);
  }

  #apply(upTo: LogIndex): void {
    for (const entry of this.log().slice(this.#applied.length, upTo)) {
      this.#applied.push(entry);
      this.#events.applied(this, entry);
    }
    this.#queue.push({ type: 'applied', index: upTo });
  }
}
