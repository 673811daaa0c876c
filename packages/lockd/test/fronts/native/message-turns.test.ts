import { MAX_FRAME_MESSAGES, type ClientMessage } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { MessageTurns, TurnShare, type MessageSource } from '../../../src/fronts/native/message-turns.ts';
import { MAX_DEFERRED_FRAME_BYTES, MAX_MESSAGES_A_TURN, MIN_MESSAGES_A_TURN } from '../../../src/limits.ts';
import { LoopbackEnsemble } from '../../support/loopback.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const pings = (count: number, from = 0): ClientMessage[] =>
  Array.from({ length: count }, (_, n) => ({ type: 'ping', id: from + n }) as const);

/** Messages of which each takes a millisecond. */
class Source implements MessageSource {
  readonly #clock: ManualClock;
  readonly #order: Source[];
  readonly share = new TurnShare();
  left: number;
  problem: string | undefined;

  constructor(clock: ManualClock, left = 0, order: Source[] = []) {
    this.#clock = clock;
    this.#order = order;
    this.left = left;
  }

  handleDeferred(atMost: number): boolean {
    this.#order.push(this);
    const count = Math.min(this.left, atMost);
    this.left -= count;
    this.#clock.stall(count);
    return this.left > 0;
  }

  tooMuchDeferred(problem: string): void {
    this.problem = problem;
  }
}

describe('the messages that are handled in the turn in which they come', () => {
  it('are bounded for all connections together, and each has a few in any case', () => {
    const clock = new ManualClock();
    const turns = new MessageTurns(clock);
    const [flood, late] = [new Source(clock), new Source(clock)];
    expect(turns.take(flood, MAX_FRAME_MESSAGES)).toBe(MAX_MESSAGES_A_TURN);
    expect(turns.take(flood, 1)).toBe(0);
    expect(turns.take(late, 5)).toBe(5);
    expect(turns.take(late, 100)).toBe(MIN_MESSAGES_A_TURN - 5);
    expect(turns.take(late, 1)).toBe(0);
    clock.runChecks();
    expect(turns.take(late, 100)).toBe(100);
  });
});

describe('messages that wait', () => {
  it('are handled a few of a connection at a time, connection by connection, with the loop free in between', () => {
    const clock = new ManualClock();
    const turns = new MessageTurns(clock);
    const order: Source[] = [];
    const [one, two] = [new Source(clock, 100, order), new Source(clock, 100, order)];
    for (const source of [one, two]) turns.defer(source, 1_000);
    // One slice takes longer than a turn may: nothing more until the loop has had as long for everything else, 20 ms at most.
    clock.runChecks();
    expect(order).toEqual([one]);
    clock.advance(19);
    expect(order).toEqual([one]);
    clock.advance(1);
    expect(order).toEqual([one, two]);
    clock.advance(1_000);
    expect(order.slice(0, 6)).toEqual([one, two, one, two, one, two]);
    expect([one.left, two.left, turns.deferredBytes]).toEqual([0, 0, 0]);
  });

  it('are bounded in bytes: the connection with the most of them is closed, and no other', () => {
    const clock = new ManualClock();
    const turns = new MessageTurns(clock);
    const [small, large] = [new Source(clock, 1), new Source(clock, 1)];
    turns.defer(small, MAX_DEFERRED_FRAME_BYTES / 4);
    turns.defer(large, MAX_DEFERRED_FRAME_BYTES / 2);
    turns.defer(small, MAX_DEFERRED_FRAME_BYTES / 8);
    expect([small.problem, large.problem]).toEqual([undefined, undefined]);
    turns.defer(small, MAX_DEFERRED_FRAME_BYTES / 4);
    expect(small.problem).toContain('wait to be handled');
    expect(large.problem).toBeUndefined();
    expect(turns.deferredBytes).toBe(MAX_DEFERRED_FRAME_BYTES / 2);
  });
});

describe('a frame of as many messages as there may be', () => {
  function flooded(): { readonly ensemble: LoopbackEnsemble; readonly flood: ReturnType<LoopbackEnsemble['server']> } {
    const ensemble = new LoopbackEnsemble();
    ensemble.elect(1);
    return { ensemble, flood: ensemble.server(1) };
  }

  it('is answered to its end and in order, and what comes behind it behind it', () => {
    const { ensemble, flood: server } = flooded();
    const flood = server.connect();
    flood.send(...pings(MAX_FRAME_MESSAGES));
    flood.send(...pings(10, MAX_FRAME_MESSAGES));
    const heard: number[] = [];
    for (let turn = 0; turn < 50; turn += 1) {
      for (const message of flood.take()) if (message.type === 'pong') heard.push(message.id);
      ensemble.clock.advance(20);
    }
    expect(heard).toEqual(Array.from({ length: MAX_FRAME_MESSAGES + 10 }, (_, id) => id));
  });

  it('lets what another client sends behind it be handled before most of it', () => {
    const { flood: server } = flooded();
    const [flood, other] = [server.connect(), server.connect()];
    const read = (id: number): ClientMessage => {
      return { type: 'read', id, consistency: 'local', minIndex: 0, query: { type: 'exists', path: '/' } };
    };
    flood.send(...Array.from({ length: MAX_FRAME_MESSAGES }, (_, id) => read(id)));
    other.send({ type: 'ping', id: 1 });
    const { readsAnswered, readsRefused } = server.machine.counters;
    expect(readsAnswered + readsRefused).toBeLessThanOrEqual(MAX_MESSAGES_A_TURN);
    expect(other.take()).toEqual([{ type: 'pong', id: 1 }]);
  });

  it('is not handled further when its connection is gone', () => {
    const { ensemble, flood: server } = flooded();
    const flood = server.connect();
    flood.send(...pings(MAX_FRAME_MESSAGES));
    flood.drop();
    ensemble.clock.advance(100);
    expect(server.machine.connections.size).toBe(0);
  });
});
