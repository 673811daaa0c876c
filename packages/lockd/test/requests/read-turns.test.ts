import { describe, expect, it } from 'vitest';
import { ServerCounters } from '../../src/counters.ts';
import { MAX_UNANSWERED_READS, READ_TURN_MS } from '../../src/limits.ts';
import type { PeerOutbox } from '../../src/peers/peer-outbox.ts';
import { CorrelationIds } from '../../src/peers/correlation-ids.ts';
import type { SessionOutput } from '../../src/port/client-channel.ts';
import { SessionClient } from '../../src/port/session-client.ts';
import { Reads } from '../../src/requests/reads.ts';
import { RequestBudget } from '../../src/requests/request-budget.ts';
import { countingRandom } from '../support/loopback.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Reads whose every answer takes a millisecond, and `slices` of preparation before it. */
class Scene {
  readonly clock = new ManualClock();
  readonly counters = new ServerCounters();
  readonly reads: Reads;
  wakes = 0;
  slices = 0;

  constructor() {
    this.reads = new Reads({
      clock: this.clock,
      counters: this.counters,
      correlations: new CorrelationIds(countingRandom()),
      peers: {} as PeerOutbox,
      handle: () => {
        throw new Error('nobody asks a leader here');
      },
      prepare: () => {
        this.slices -= 1;
        if (this.slices < 0) return true;
        this.clock.stall(1);
        return false;
      },
      query: () => {
        this.clock.stall(1);
        return { type: 'verify', token: 0 };
      },
      appliedIndex: () => 7,
      wake: () => (this.wakes += 1),
    });
  }

  client() {
    const heard: SessionOutput[] = [];
    const channel = {
      remoteAddress: 'client:1',
      open: true,
      unreadBytes: 0,
      isBehind: false,
      hearsOfHolds: false,
      send: (output: SessionOutput) => void heard.push(output),
      goodbye() {},
    };
    const client = new SessionClient(channel, { requests: new RequestBudget(), counters: this.counters });
    return { channel, client, heard };
  }

  read(client: SessionClient, id: number, minIndex?: number): void {
    const consistency = minIndex === undefined ? 'local' : 'session';
    const query = { type: 'verify', lock: 'a', acquireIndex: 1 } as const;
    this.reads.read(client, { id, consistency, minIndex: minIndex ?? 0, query });
  }
}

describe('a turn of the event loop', () => {
  it('answers reads for a bounded time, and leaves the rest to the next ones', () => {
    const scene = new Scene();
    const { client, heard } = scene.client();
    for (let id = 1; id <= 100; id += 1) scene.read(client, id);
    expect(heard).toEqual([]);
    for (let turn = 1; turn <= 3; turn += 1) {
      scene.wakes = 0;
      scene.reads.endOfTurn();
      expect(heard).toHaveLength(turn * READ_TURN_MS);
      expect(scene.wakes).toBe(1);
    }
    expect(scene.counters.readTurnsCut).toBe(3);
    expect(client.unansweredReads).toBe(100 - heard.length);
  });

  it('answers a client that asks once beside one that floods, local reads and those that wait for nothing alike', () => {
    const scene = new Scene();
    const [flood, one, two] = [scene.client(), scene.client(), scene.client()];
    for (let id = 1; id <= MAX_UNANSWERED_READS; id += 1) scene.read(flood.client, id);
    scene.read(one.client, 1);
    scene.reads.endOfTurn();
    expect(one.heard).toHaveLength(1);
    scene.read(two.client, 1, 7);
    scene.reads.endOfTurn();
    expect(two.heard).toHaveLength(1);
    expect(flood.heard.length).toBeLessThan(4);
  });

  it('prepares a listing in slices, and goes on with others in between', () => {
    const scene = new Scene();
    const [listing, other] = [scene.client(), scene.client()];
    scene.slices = 10;
    scene.read(listing.client, 1);
    for (let turn = 0; turn < 10 / READ_TURN_MS; turn += 1) scene.reads.endOfTurn();
    expect(listing.heard).toEqual([]);
    scene.read(other.client, 1);
    scene.reads.endOfTurn();
    expect(listing.heard).toHaveLength(1);
    expect(other.heard).toHaveLength(1);
  });
});

describe('local reads', () => {
  it('count until they are answered, so that one frame of them cannot pile up', () => {
    const scene = new Scene();
    const { client, heard } = scene.client();
    for (let id = 1; id <= 16_384; id += 1) scene.read(client, id);
    expect(scene.reads.ready).toBe(MAX_UNANSWERED_READS);
    expect(heard).toHaveLength(16_384 - MAX_UNANSWERED_READS);
    expect(heard[0]).toMatchObject({ id: MAX_UNANSWERED_READS + 1, answer: { code: 'OVERLOADED' } });
  });

  it('of a connection that is gone are dropped', () => {
    const scene = new Scene();
    const { channel, client } = scene.client();
    for (let id = 1; id <= 50; id += 1) scene.read(client, id);
    channel.open = false;
    scene.reads.endOfTurn();
    expect(scene.reads.ready).toBe(0);
    expect(scene.counters.readsAnswered).toBe(0);
  });
});
