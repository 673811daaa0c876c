import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import {
  MAX_TRACED_ITEMS,
  RAFT_TRACE_FLUSH_MS,
  RaftTrace,
  raftTraceHeader,
  type TraceSink,
} from '../../src/raft-trace.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { SimEnsemble } from './sim-ensemble.ts';

interface Item {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A line as a reader of the file sees it. */
interface TracedStep {
  readonly step: number;
  readonly atMs: number;
  readonly events: readonly Item[];
  readonly eventsLeftOut?: number;
  readonly effects?: readonly Item[];
  readonly status?: { readonly role: string; readonly term: number; readonly commitIndex: number };
}

class MemorySink implements TraceSink {
  readonly lines: string[] = [];
  flushed = 0;
  fails = false;

  write(line: string): void {
    if (this.fails) throw new Error('no room');
    this.lines.push(line);
  }

  flush(): void {
    this.flushed = this.lines.length;
  }

  get steps(): TracedStep[] {
    return this.lines.map((line) => JSON.parse(line) as TracedStep);
  }
}

/** Three servers that traced an election and a session's work. */
async function tracedRun(): Promise<ReadonlyMap<number, readonly TracedStep[]>> {
  const ensemble = new SimEnsemble(11);
  const sinks = new Map<number, MemorySink>();
  for (const id of ensemble.ids) {
    const sink = new MemorySink();
    sinks.set(id, sink);
    const { clock } = ensemble.world.host(SimEnsemble.hostOf(id)).runtime;
    ensemble.observers.set(id, new RaftTrace(sink, { clock, logger: silentLogger }));
  }
  await ensemble.start();
  const client = ensemble.client();
  for (let count = 0; count < 20; count += 1) {
    const hold = await ensemble.complete(client.acquire(`lock-${count}`));
    await ensemble.complete(client.release(hold));
  }
  return new Map([...sinks].map(([id, sink]) => [id, sink.steps]));
}

const itemsOf = (steps: readonly TracedStep[], of: 'events' | 'effects', type: string): Item[] =>
  steps.flatMap((step) => step[of] ?? []).filter((item) => item.type === type);

describe('the trace of three servers, read back', () => {
  it('has every step, in order, with events, effects and status', async () => {
    for (const [, steps] of await tracedRun()) {
      expect(steps.length).toBeGreaterThan(20);
      expect(steps.map(({ step }) => step)).toEqual(steps.map((_, position) => position + 1));
      for (const [position, step] of steps.entries()) {
        const before = steps[position - 1];
        expect(step.effects).toBeDefined();
        expect(step.atMs).toBeGreaterThanOrEqual(before?.atMs ?? 0);
        expect(step.status?.commitIndex).toBeGreaterThanOrEqual(before?.status?.commitIndex ?? 0);
        expect(step.status?.term).toBeGreaterThanOrEqual(before?.status?.term ?? 0);
      }
    }
  });

  it('has each message that a server heard among those that another one sent', async () => {
    const run = await tracedRun();
    let heard = 0;
    for (const [to, steps] of run) {
      for (const [from, others] of run) {
        if (from === to) continue;
        const sent = itemsOf(others, 'effects', 'send').filter((item) => item['to'] === to);
        const messages = new Set(sent.map(({ message }) => JSON.stringify(message)));
        for (const event of itemsOf(steps, 'events', 'message').filter((item) => item['from'] === from)) {
          expect(messages).toContain(JSON.stringify(event['message']));
          heard += 1;
        }
      }
    }
    // Of forty commands the appends to the follower in front, and its answers; the other one hears of several at once.
    expect(heard).toBeGreaterThanOrEqual(40 * 2);
  });

  it('tells how much clients stored, and not what', async () => {
    const run = await tracedRun();
    const all = [...run.values()].flat();
    const proposals = itemsOf(all, 'events', 'propose');
    expect(proposals.length).toBeGreaterThan(0);
    for (const { commands } of proposals) expect(Object.keys(commands as object)).toEqual(['count', 'bytes']);
    const writes = itemsOf(all, 'effects', 'persist').filter(({ entries }) => (entries as { count: number }).count > 0);
    expect(writes.length).toBeGreaterThan(0);
    for (const { entries } of writes)
      expect(Object.keys(entries as object)).toEqual(['count', 'first', 'last', 'bytes']);
  });
});

describe('a trace', () => {
  const world = () => ({ clock: new ManualClock(), logger: silentLogger });
  const status = {} as Parameters<RaftTrace['stepped']>[1];

  it('keeps the events of a step that failed', () => {
    const sink = new MemorySink();
    const trace = new RaftTrace(sink, world());
    trace.stepping([{ type: 'deadline' }], 5);
    trace.close();
    expect(sink.steps).toEqual([{ step: 1, atMs: 5, events: [{ type: 'deadline' }] }]);
    expect(sink.flushed).toBe(1);
  });

  it('is visible to others before long', () => {
    const sink = new MemorySink();
    const { clock, logger } = world();
    const trace = new RaftTrace(sink, { clock, logger });
    trace.stepping([], 0);
    trace.stepped([], status);
    expect(sink.flushed).toBe(0);
    clock.advance(RAFT_TRACE_FLUSH_MS);
    expect(sink.flushed).toBe(1);
  });

  it('lists so many events of a step, and the number of the rest', () => {
    const sink = new MemorySink();
    const trace = new RaftTrace(sink, world());
    trace.stepping(
      Array.from({ length: MAX_TRACED_ITEMS + 3 }, () => ({ type: 'deadline' }) as const),
      0,
    );
    trace.stepped([], status);
    expect(sink.steps[0]?.events).toHaveLength(MAX_TRACED_ITEMS);
    expect(sink.steps[0]?.eventsLeftOut).toBe(3);
  });

  it('ends with one line in the log when its file cannot be written, and the server goes on', () => {
    const sink = new MemorySink();
    const errors: string[] = [];
    const { clock } = world();
    const logger = { ...silentLogger, error: (_fields: object, message: string) => void errors.push(message) };
    const trace = new RaftTrace(sink, { clock, logger });
    sink.fails = true;
    for (let count = 0; count < 3; count += 1) {
      trace.stepping([], 0);
      trace.stepped([], status);
    }
    expect(errors).toEqual(['the trace of Raft ends here: its file cannot be written; the server goes on']);
  });

  it('begins with its format, its server and both clocks', () => {
    const clock = new ManualClock();
    expect(JSON.parse(raftTraceHeader(3, clock))).toEqual({
      format: 'holdfast-raft-trace',
      version: 1,
      server: 3,
      atMs: clock.monotonicMs(),
      wallMs: clock.wallMs(),
    });
  });
});
