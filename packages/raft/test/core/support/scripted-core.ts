/**
 * One core, driven by hand: server 1 unless told otherwise. Time passes only in `elapse`, writes are durable only with `durable`
 * (and a disk never counts as hung, nor is anything kept from a follower for a while, unless a test says so), and what a step did is
 * what it returns.
 */

import {
  DEFAULT_RAFT_LIMITS,
  EntryType,
  LOG_START,
  RaftCore,
  initialConfiguration,
  logIndex,
  serverId,
  term,
  type DurableState,
  type Configuration,
  type CoreStatus,
  type Effect,
  type Entry,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type ServerId,
  type TermRun,
  type WriteSeq,
} from '../../../src/core/index.ts';

export interface Script {
  readonly id?: number;
  readonly servers?: number;
  readonly term?: number;
  readonly votedFor?: number;
  /** The terms of the entries that a start finds on disk. */
  readonly log?: readonly number[];
  readonly voteBan?: number;
  /** What a start finds on disk, whole; takes the place of what is said of it above. */
  readonly boot?: DurableState;
  /** The members that it begins with. @default as many voters as there are servers */
  readonly initial?: Configuration;
  /** Connected to all others from the beginning. @default true */
  readonly connected?: boolean;
  readonly config?: Partial<RaftConfig>;
}

export class ScriptedCore {
  readonly core: RaftCore;
  readonly peers: readonly number[];
  now = 0;
  #seq = 0;

  constructor(script: Script = {}) {
    const {
      id = 1,
      servers = 3,
      term: bootTerm,
      votedFor = 0,
      log = [],
      voteBan,
      boot,
      connected = true,
      config = {},
    } = script;
    const voters = Array.from({ length: servers }, (_, position) => serverId(position + 1));
    this.peers = voters.filter((voter) => voter !== id);
    const { initial = initialConfiguration(voters.map((voter) => ({ id: voter, peerAddress: `host:${voter}` }))) } =
      script;
    this.core = new RaftCore(
      {
        ...DEFAULT_RAFT_LIMITS,
        diskStallMs: Infinity,
        deferredFollowerDelayMs: 0,
        seed: 1,
        ...config,
        id: serverId(id),
        initial,
      },
      boot ?? {
        hardState: { term: term(bootTerm ?? log.at(-1) ?? 0), votedFor: serverId(votedFor) },
        lastIndex: logIndex(log.length),
        terms: marksOf(log),
        base: LOG_START,
        snapshot: undefined,
        ...(voteBan === undefined ? {} : { voteBan: term(voteBan) }),
        configurations: [],
      },
      0,
    );
    if (connected)
      this.step(...this.peers.map((peer): RaftEvent => ({ type: 'peer-connected', peer: serverId(peer) })));
  }

  get status(): CoreStatus {
    return this.core.status;
  }

  step(...events: RaftEvent[]): Effect[] {
    const effects = this.core.step(events, this.now);
    for (const effect of effects) if (effect.type === 'persist') this.#seq = effect.seq;
    return effects;
  }

  receive(from: number, ...messages: Message[]): Effect[] {
    return this.step(...messages.map((message): RaftEvent => ({ type: 'message', from: serverId(from), message })));
  }

  /** All that was written so far. */
  durable(): Effect[] {
    return this.step({ type: 'persisted', seq: this.#seq as WriteSeq });
  }

  propose(...commands: (string | Uint8Array)[]): Effect[] {
    const bytes = commands.map((command) =>
      typeof command === 'string' ? new TextEncoder().encode(command) : command,
    );
    return this.step({ type: 'propose', commands: bytes });
  }

  /** Lets time pass with a step at every deadline; ends early when `until` holds. */
  elapse(ms: number, until: () => boolean = () => false): Effect[] {
    const end = this.now + ms;
    const effects: Effect[] = [];
    while (!until() && this.core.deadline <= end) {
      this.now = this.core.deadline;
      effects.push(...this.step({ type: 'deadline' }));
    }
    if (!until()) this.now = end;
    return effects;
  }

  /** Stands: asks for pre-votes, which all peers grant, and then for votes. */
  stand(): Effect[] {
    this.elapse(5_000, () => this.status.role === 'pre-candidate');
    const asked = term(this.status.term + 1);
    const effects: Effect[] = [];
    for (const peer of this.peers) {
      if (this.status.role !== 'pre-candidate') break;
      effects.push(...this.receive(peer, { type: 'pre-vote-response', term: asked, askedTerm: asked, granted: true }));
    }
    return effects;
  }

  /** Stands and wins. Returns the effects of the step in which it became leader. */
  lead(): Effect[] {
    this.stand();
    let effects = this.durable();
    for (const peer of this.peers) {
      if (this.status.role === 'leader') break;
      effects = this.receive(peer, { type: 'vote-response', term: this.status.term, granted: true });
    }
    return effects;
  }

  /** Leads, with its log durable everywhere and committed. */
  leadInSync(): void {
    this.lead();
    this.durable();
    for (const peer of this.peers) this.acknowledge(peer, this.status.lastIndex);
    this.step({ type: 'applied', index: this.status.commitIndex });
  }

  acknowledge(from: number, index: number, eagerCommit = false): Effect[] {
    return this.receive(from, accepted(this.status.term, index, eagerCommit));
  }
}

export function accepted(messageTerm: number, index: number, eagerCommit = false): Message {
  return {
    type: 'append-response',
    term: term(messageTerm),
    accepted: true,
    index: logIndex(index),
    hintTerm: term(0),
    refusedIndex: logIndex(0),
    eagerCommit,
  };
}

export function refused(messageTerm: number, refusedIndex: number, index: number, hintTerm: number): Message {
  return {
    type: 'append-response',
    term: term(messageTerm),
    accepted: false,
    index: logIndex(index),
    hintTerm: term(hintTerm),
    refusedIndex: logIndex(refusedIndex),
    eagerCommit: false,
  };
}

/** An append after (prevIndex, prevTerm) with entries of these terms. */
export function append(
  messageTerm: number,
  [prevIndex, prevTerm]: readonly [number, number],
  terms: readonly number[] = [],
  commit = 0,
): Message {
  return {
    type: 'append',
    term: term(messageTerm),
    prevIndex: logIndex(prevIndex),
    prevTerm: term(prevTerm),
    commit: logIndex(commit),
    entries: terms.map((entryTerm, position) => entry(prevIndex + 1 + position, entryTerm)),
  };
}

export function heartbeat(messageTerm: number, commit = 0, round = 1): Message {
  return { type: 'heartbeat', term: term(messageTerm), commit: logIndex(commit), round };
}

export function heartbeatResponse(messageTerm: number, round: number, eagerCommit = false): Message {
  return { type: 'heartbeat-response', term: term(messageTerm), round, eagerCommit };
}

export function vote(messageTerm: number, [lastIndex, lastTerm]: readonly [number, number], transfer = false): Message {
  return { type: 'vote', term: term(messageTerm), lastIndex: logIndex(lastIndex), lastTerm: term(lastTerm), transfer };
}

export function preVote(messageTerm: number, [lastIndex, lastTerm]: readonly [number, number]): Message {
  return { type: 'pre-vote', term: term(messageTerm), lastIndex: logIndex(lastIndex), lastTerm: term(lastTerm) };
}

export function entry(index: number, entryTerm: number, data = new Uint8Array([index % 256])): Entry {
  return { index: logIndex(index), term: term(entryTerm), type: EntryType.command, data };
}

export type Sent<T extends Message['type']> = Extract<Message, { type: T }> & {
  readonly to: ServerId;
  readonly after: WriteSeq | undefined;
};

/** The messages of one type, with where they go and what they wait for. */
export function sent<T extends Message['type']>(effects: readonly Effect[], type: T): Sent<T>[] {
  const found: Sent<T>[] = [];
  for (const effect of effects) {
    if (effect.type === 'send' && effect.message.type === type) {
      found.push({ ...(effect.message as Extract<Message, { type: T }>), to: effect.to, after: effect.after });
    }
  }
  return found;
}

export function ofType<T extends Effect['type']>(effects: readonly Effect[], type: T): Extract<Effect, { type: T }>[] {
  return effects.filter((effect): effect is Extract<Effect, { type: T }> => effect.type === type);
}

function marksOf(terms: readonly number[]): TermRun[] {
  const marks: TermRun[] = [];
  for (const [position, entryTerm] of terms.entries()) {
    if (marks.at(-1)?.term !== entryTerm) marks.push({ term: term(entryTerm), firstIndex: logIndex(position + 1) });
  }
  return marks;
}
