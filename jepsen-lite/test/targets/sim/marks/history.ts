/** Hand-made histories of one run's servers, for the recognisers of coverage marks. */

import {
  EntryType,
  logIndex,
  serverId,
  term,
  type CoreStatus,
  type DurableState,
  type Effect,
  type Entry,
  type Message,
  type RaftEvent,
  type WriteSeq,
} from '@holdfast/raft';
import type { MarkName, MarkView } from '../../../../src/targets/sim/marks/mark.ts';
import { NO_RESUMES, type WatchResumes } from '../../../../src/targets/sim/watch-resumes.ts';
import { Marks } from '../../../../src/targets/sim/marks/marks.ts';

export interface World {
  termsOf: readonly number[];
  committed: number;
  apart: boolean;
  retransmissionsLost: number;
  resumes: WatchResumes;
}

export class History {
  readonly world: World = {
    termsOf: [0, 1, 1],
    committed: 2,
    apart: false,
    retransmissionsLost: 0,
    resumes: NO_RESUMES,
  };
  readonly marks: Marks;
  readonly #status = new Map<number, CoreStatus>();
  #nowMs = 0;

  constructor(view: Partial<MarkView> = {}) {
    const { world } = this;
    this.marks = new Marks({
      electionTimeoutMs: 1_000,
      maxInflightMessages: 2,
      termsOf: () => world.termsOf,
      votersOf: () => [[1, 2, 3]],
      committed: () => world.committed,
      apart: () => world.apart,
      retransmissionsLost: () => world.retransmissionsLost,
      resumes: () => world.resumes,
      ...view,
    });
  }

  get hits(): Partial<Record<MarkName, number>> {
    return this.marks.counts;
  }

  after(ms: number): this {
    this.#nowMs += ms;
    return this;
  }

  /** A step of that server; what is not given of its status stays. */
  step(id: number, now: Partial<Status>, events: readonly RaftEvent[] = [], effects: readonly Effect[] = []): this {
    const status = { ...(this.#status.get(id) ?? FOLLOWER), ...(now as Partial<CoreStatus>) };
    this.#status.set(id, status);
    this.marks.stepping(id, events, this.#nowMs);
    this.marks.stepped(id, effects, status);
    return this;
  }

  /** A start that finds a log of so many entries. */
  open(id: number, lastIndex = 2): this {
    this.#status.delete(id);
    this.marks.opened(id, { lastIndex } as unknown as DurableState);
    return this;
  }

  down(id: number): this {
    this.#status.delete(id);
    this.marks.down(id);
    return this;
  }
}

type Status = { readonly [K in keyof CoreStatus]: CoreStatus[K] extends number ? number : CoreStatus[K] };

const FOLLOWER = {
  role: 'follower',
  term: 1,
  votedFor: 0,
  leader: 0,
  quorumLost: false,
  commitIndex: 0,
  lastIndex: 2,
  noopIndex: 0,
  diskStalls: false,
  successor: 0,
  voteBanned: false,
} as unknown as CoreStatus;

export function entry(
  index: number,
  ofTerm: number,
  type: EntryType = EntryType.command,
  data: Uint8Array = new Uint8Array(0),
): Entry {
  return { index: logIndex(index), term: term(ofTerm), type, data };
}

type Persist = Extract<Effect, { type: 'persist' }>;

export function persist(seq: number, fields: Partial<Persist> = {}): Persist {
  const nothing = { hardState: undefined, snapshot: undefined, truncateFrom: undefined, entries: [] };
  return { type: 'persist', seq: seq as WriteSeq, ...nothing, ...fields };
}

export function send(to: number, message: object): Effect {
  return { type: 'send', to: serverId(to), message: message as Message, after: undefined };
}

export function from(peer: number, message: object): RaftEvent {
  return { type: 'message', from: serverId(peer), message: message as Message };
}
