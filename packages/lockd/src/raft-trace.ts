/**
 * A line of JSON for every step of consensus: the events that went into the core, the effects that came out, and what the core was then.
 * For people who look for the cause of something: off unless asked for. What clients store is not in it, only its size; a step that
 * failed has neither effects nor status.
 */

import type { CoreStatus, Effect, RaftEvent, ReplicaObserver } from '@holdfast/raft';
import type { Clock, Logger } from '@holdfast/runtime';

const RAFT_TRACE_FORMAT = 'holdfast-raft-trace';
const RAFT_TRACE_VERSION = 1;
/** Of one file of the trace; there are at most two. */
export const RAFT_TRACE_FILE_BYTES = 64 * 1024 * 1024;
/** What a killed process loses of its trace at most. */
export const RAFT_TRACE_FLUSH_MS = 100;
/** Of the events of a step, and of its effects; the number of the others is shown. */
export const MAX_TRACED_ITEMS = 256;

/** Where lines go; `flush` makes what was written visible to others. Both may throw. */
export interface TraceSink {
  write(line: string): void;
  flush(): void;
}

interface Step {
  readonly step: number;
  readonly atMs: number;
  readonly events: readonly unknown[];
  readonly eventsLeftOut?: number;
}

export class RaftTrace implements Pick<ReplicaObserver, 'stepping' | 'stepped'> {
  readonly #sink: TraceSink;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #steps = 0;
  /** Begun, and not ended yet. */
  #step: Step | undefined;
  #flushing = false;
  #failed = false;

  constructor(sink: TraceSink, world: { readonly clock: Clock; readonly logger: Logger }) {
    this.#sink = sink;
    this.#clock = world.clock;
    this.#logger = world.logger;
  }

  stepping(events: readonly RaftEvent[], nowMs: number): void {
    this.#steps += 1;
    const [listed, leftOut] = listOf(events);
    this.#step = { step: this.#steps, atMs: nowMs, events: listed, ...(leftOut > 0 ? { eventsLeftOut: leftOut } : {}) };
  }

  stepped(effects: readonly Effect[], status: CoreStatus): void {
    const step = this.#step;
    this.#step = undefined;
    const [listed, leftOut] = listOf(effects);
    this.#write({ ...step, effects: listed, ...(leftOut > 0 ? { effectsLeftOut: leftOut } : {}), status });
    this.#flushSoon();
  }

  /** At the end of the process: everything is written, a step that has not ended too. */
  close(): void {
    if (this.#step !== undefined) this.#write(this.#step);
    this.#step = undefined;
    this.#try(() => this.#sink.flush());
  }

  #write(line: object): void {
    this.#try(() => this.#sink.write(JSON.stringify(line)));
  }

  #flushSoon(): void {
    if (this.#flushing || this.#failed) return;
    this.#flushing = true;
    this.#clock.setTimer(RAFT_TRACE_FLUSH_MS, () => {
      this.#flushing = false;
      this.#try(() => this.#sink.flush());
    });
  }

  /** A server does not fail for want of its trace. */
  #try(write: () => void): void {
    if (this.#failed) return;
    try {
      write();
    } catch (error) {
      this.#failed = true;
      this.#logger.error({ err: error }, 'the trace of Raft ends here: its file cannot be written; the server goes on');
    }
  }
}

/** The first line of each file. Both clocks: steps carry the monotonic one, other servers and logs are compared by the other. */
export function raftTraceHeader(server: number, clock: Clock): string {
  const times = { atMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  return JSON.stringify({ format: RAFT_TRACE_FORMAT, version: RAFT_TRACE_VERSION, server, ...times });
}

function listOf(items: readonly object[]): readonly [readonly unknown[], number] {
  return [items.slice(0, MAX_TRACED_ITEMS).map((item) => summary(item)), Math.max(0, items.length - MAX_TRACED_ITEMS)];
}

type Fields = Readonly<Record<string, unknown>>;

/** By which servers know each other. */
const SECRETS: ReadonlySet<string> = new Set(['incarnation', 'joinSecret']);

/** The same, with the size of all that has no bound or is not ours to show. */
function summary(value: unknown, name = ''): unknown {
  if (value instanceof Uint8Array) return { bytes: value.length };
  if (typeof value === 'string' && SECRETS.has(name)) return value === '' ? '' : 'secret';
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    if (name === 'entries') return entriesSummary(list as readonly Fields[]);
    if (name === 'commands')
      return { count: list.length, bytes: list.reduce<number>((sum, each) => sum + sizeOf(each), 0) };
    if (name === 'tickets') return { count: list.length };
    return list.map((each) => summary(each));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, summary(field, key)]));
}

function entriesSummary(entries: readonly Fields[]): object {
  const [first] = entries;
  const last = entries.at(-1);
  if (first === undefined || last === undefined) return { count: 0 };
  const place = ({ index, term, type }: Fields): object => ({ index, term, type });
  const bytes = entries.reduce((sum, { data }) => sum + sizeOf(data), 0);
  return { count: entries.length, first: place(first), last: place(last), bytes };
}

function sizeOf(value: unknown): number {
  return value instanceof Uint8Array ? value.length : 0;
}
