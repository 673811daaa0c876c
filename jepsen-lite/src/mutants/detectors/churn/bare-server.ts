/**
 * One bare core of consensus with a disk of its own, whose time passes and whose writes complete only when it is told so. What it
 * sends is handed to `post` as soon as everything that it must wait for is durable, as a replica would do it.
 */

import {
  DEFAULT_RAFT_LIMITS,
  LOG_START,
  EntryType,
  NO_SERVER,
  RaftCore,
  initialConfiguration,
  logIndex,
  type CoreStatus,
  type Effect,
  type Entry,
  type HardState,
  type LogIndex,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type ServerId,
  type Term,
  type TermMark,
} from '@holdfast/raft/core';

type Persist = Extract<Effect, { type: 'persist' }>;
type Send = Extract<Effect, { type: 'send' }>;

/** What becomes known of a server while it takes its steps. */
export interface ServerEvents {
  post(from: BareServer, to: ServerId, message: Message): void;
  applied(server: BareServer, entry: Entry): void;
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
  #hardState: HardState = { term: 0 as Term, votedFor: NO_SERVER };
  #durable: Entry[] = [];
  #writes: Persist[] = [];
  #persistedSeq = 0;
  #held: Send[] = [];
  #applied = 0;
  #queue: RaftEvent[] = [];

  constructor(id: ServerId, voters: readonly ServerId[], seed: number, inflight: number, events: ServerEvents) {
    this.id = id;
    this.#voters = voters;
    this.#events = events;
    this.#config = {
      ...DEFAULT_RAFT_LIMITS,
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
    const log = [...this.#durable];
    for (const write of this.#writes) applyWrite(log, write);
    return log;
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
    for (const write of this.#writes) this.#write(write);
    this.#writes = [];
    this.#persistedSeq = last.seq;
    this.step({ type: 'persisted', seq: last.seq });
    const held = this.#held;
    this.#held = [];
    for (const send of held) this.#send(send);
  }

  /** The process ends, with `finished` of the writes that were under way done, and starts again from its disk. */
  restart(finished: number): void {
    for (const write of this.#writes.slice(0, finished)) this.#write(write);
    this.#writes = [];
    this.#held = [];
    this.#queue = [];
    this.#persistedSeq = 0;
    this.#applied = 0;
    this.#lives += 1;
    this.#core = this.#boot();
    this.step(...this.#peers().map((peer) => ({ type: 'peer-connected', peer }) as const));
  }

  get writesUnderWay(): number {
    return this.#writes.length;
  }

  #peers(): readonly ServerId[] {
    return this.#voters.filter((voter) => voter !== this.id);
  }

  #boot(): RaftCore {
    const terms: TermMark[] = [];
    for (const { term, index } of this.#durable) {
      if (terms.at(-1)?.term !== term) terms.push({ term, firstIndex: index });
    }
    const configurations = this.#durable.filter(({ type }) => type === EntryType.configuration);
    const lastIndex = logIndex(this.#durable.length);
    const boot = { hardState: this.#hardState, base: LOG_START, lastIndex, terms, snapshot: undefined, configurations };
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
      case 'compact':
      case 'send-snapshot':
        throw new TypeError(`a server that never takes a snapshot has the effect ${effect.type}`);
      case 'lift-vote-ban':
        throw new TypeError('a server that never lost its log has its ban on voting lifted');
      case 'read-entries': {
        const { peer, term, from, to } = effect;
        this.#queue.push({ type: 'entries-read', peer, term, entries: this.#durable.slice(from - 1, to).slice(0, 1) });
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
    if (send.after !== undefined && send.after > this.#persistedSeq) this.#held.push(send);
    else this.#events.post(this, send.to, send.message);
  }

  #apply(upTo: LogIndex): void {
    for (const entry of this.log().slice(this.#applied, upTo)) this.#events.applied(this, entry);
    this.#applied = upTo;
    this.#queue.push({ type: 'applied', index: upTo });
  }

  #write(write: Persist): void {
    if (write.hardState !== undefined) this.#hardState = write.hardState;
    applyWrite(this.#durable, write);
  }
}

function applyWrite(log: Entry[], { truncateFrom, entries }: Persist): void {
  if (truncateFrom !== undefined) log.length = Math.min(log.length, truncateFrom - 1);
  log.push(...entries);
}
