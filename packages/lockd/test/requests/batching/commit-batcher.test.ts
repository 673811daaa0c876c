import { describe, expect, it } from 'vitest';
import { ServerCounters } from '../../../src/counters.ts';
import { MAX_BATCHED_BYTES, MAX_BATCHED_ENTRIES, MAX_BATCH_WAIT_MS } from '../../../src/limits.ts';
import { CommitBatcher } from '../../../src/requests/batching/commit-batcher.ts';
import { ClientThinkTime } from '../../../src/requests/batching/client-think-time.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const COMMIT_MS = 2;

/** A batcher of a leader, and clients that are answered and come back when a test says so. */
class GateWorld {
  readonly clock = new ManualClock();
  readonly counters = new ServerCounters();
  readonly proposed: Uint8Array[] = [];
  readonly batcher = new CommitBatcher({
    clock: this.clock,
    counters: this.counters,
    propose: (entry) => this.proposed.push(entry),
  });

  constructor() {
    this.batcher.lead();
  }

  /** Everything proposed so far is applied, and so many milliseconds have passed. */
  commit(ms = COMMIT_MS): void {
    this.clock.advance(ms);
    for (const entry of this.proposed) this.batcher.applied({ data: entry });
  }

  request(client: ClientThinkTime, bytes = 1): Uint8Array {
    const entry = new Uint8Array(bytes);
    this.batcher.returned(client);
    this.batcher.propose(entry);
    return entry;
  }

  /** What was proposed since the last call. */
  take(): readonly Uint8Array[] {
    return this.proposed.splice(0);
  }

  /** Clients that have come back `returnMs` after each of the last answers, and wait for another. */
  clients(count: number, returnMs = 0.1): readonly ClientThinkTime[] {
    const clients = Array.from({ length: count }, () => new ClientThinkTime());
    for (const client of clients) this.request(client);
    this.commit();
    for (let round = 0; round < 4; round += 1) {
      for (const client of clients) {
        this.answerAll([client]);
        this.clock.advance(returnMs);
        this.request(client);
      }
      this.commit();
    }
    this.take();
    return clients;
  }

  /** In one turn. */
  answerAll(clients: readonly ClientThinkTime[]): void {
    for (const client of clients) this.batcher.answered(client);
    this.batcher.endOfTurn();
  }
}

describe('proposals of clients that come back at once', () => {
  it('are proposed together, in order, when the last has come', () => {
    const world = new GateWorld();
    const clients = world.clients(5);
    world.answerAll(clients);
    const entries = clients.slice(1).map((client) => world.request(client));
    expect(world.take()).toEqual([]);
    const [first] = clients;
    if (first === undefined) throw new Error('no clients');
    const last = world.request(first);
    const proposed = world.take();
    expect(proposed).toHaveLength(5);
    for (const [n, entry] of [...entries, last].entries()) expect(proposed[n]).toBe(entry);
    expect(world.counters).toMatchObject({ proposalsBatched: 4, batchesComplete: 1, batchesLate: 0 });
  });

  it('take along what anybody else proposes, in the order of their coming', () => {
    const world = new GateWorld();
    const [one, two] = world.clients(2);
    if (one === undefined || two === undefined) throw new Error('no clients');
    world.answerAll([one, two]);
    const entries = [world.request(one), world.request(new ClientThinkTime()), world.request(two)];
    expect(world.take()).toEqual(entries);
  });

  it('wait as long as a commit takes for one that does not come, and go then', () => {
    const world = new GateWorld();
    const [one, two] = world.clients(2);
    if (one === undefined || two === undefined) throw new Error('no clients');
    world.answerAll([one, two]);
    world.request(one);
    world.clock.advance(COMMIT_MS * 0.9);
    expect(world.take()).toHaveLength(0);
    world.clock.advance(COMMIT_MS * 0.2);
    expect(world.take()).toHaveLength(1);
    expect(world.counters.batchesLate).toBe(1);
    world.request(two);
    expect(world.take()).toHaveLength(1);
  });

  it('wait no longer than the limit where commits are slow', () => {
    const world = new GateWorld();
    const clients = world.clients(2);
    for (let round = 0; round < 40; round += 1) {
      world.answerAll(clients);
      for (const client of clients) world.request(client);
      world.commit(50);
    }
    world.take();
    world.answerAll(clients);
    for (const client of clients.slice(1)) world.request(client);
    world.clock.advance(MAX_BATCH_WAIT_MS + 0.1);
    expect(world.take()).toHaveLength(1);
  });

  it.each([
    ['entries', MAX_BATCHED_ENTRIES, 1],
    ['bytes', 4, MAX_BATCHED_BYTES / 4],
  ])('go at once when they are enough %s for a write', (_, enough, bytes) => {
    const world = new GateWorld();
    const clients = world.clients(enough + 2, 0.001);
    world.answerAll(clients);
    for (const client of clients.slice(0, enough - 1)) world.request(client, bytes);
    expect(world.take()).toHaveLength(0);
    for (const client of clients.slice(enough - 1, enough)) world.request(client, bytes);
    expect(world.take()).toHaveLength(enough);
    for (const client of clients.slice(enough)) world.request(client);
    expect(world.take()).toHaveLength(2);
  });

  it('do not wait for one whose connection closes', () => {
    const world = new GateWorld();
    const [one, two] = world.clients(2);
    if (one === undefined || two === undefined) throw new Error('no clients');
    world.answerAll([one, two]);
    world.request(one);
    world.batcher.gone(two);
    expect(world.take()).toHaveLength(1);
    world.batcher.gone(two);
    world.answerAll([one]);
    world.request(one);
    expect(world.take()).toHaveLength(1);
  });

  it('do not wait for those who were to come long ago', () => {
    const world = new GateWorld();
    const clients = world.clients(3);
    world.answerAll(clients);
    world.clock.advance(1_000);
    world.request(new ClientThinkTime());
    expect(world.take()).toHaveLength(1);
    expect(world.counters.proposalsBatched).toBe(0);
  });

  it('wait for one that was late a single time', () => {
    const world = new GateWorld();
    const clients = world.clients(2);
    for (let round = 0; round < 4; round += 1) {
      world.answerAll(clients);
      for (const client of clients) world.request(client);
      world.commit();
    }
    world.answerAll(clients);
    world.clock.advance(COMMIT_MS * 2);
    for (const client of clients) world.request(client);
    world.commit();
    world.take();
    world.answerAll(clients);
    for (const client of clients.slice(1)) world.request(client);
    expect(world.take()).toHaveLength(0);
  });
});

describe('nobody waits', () => {
  it('for a client alone', () => {
    const world = new GateWorld();
    const [only] = world.clients(1);
    if (only === undefined) throw new Error('no client');
    for (let round = 0; round < 10; round += 1) {
      world.answerAll([only]);
      world.request(only);
      expect(world.take()).toHaveLength(1);
    }
    expect(world.counters.proposalsBatched).toBe(0);
  });

  it('for clients that take longer than a commit', () => {
    const world = new GateWorld();
    const clients = world.clients(5, COMMIT_MS * 1.5);
    world.answerAll(clients);
    world.request(new ClientThinkTime());
    expect(world.take()).toHaveLength(1);
  });

  it('for clients that come back at once every other time', () => {
    const world = new GateWorld();
    const clients = world.clients(3);
    for (let round = 0; round < 20; round += 1) {
      world.answerAll(clients);
      world.clock.advance(round % 2 === 0 ? 100 : 0.1);
      for (const client of clients) world.request(client);
      // The first round still waits, by what was known of them.
      if (round > 0) expect(world.take()).toHaveLength(3);
      world.commit();
      world.take();
    }
    expect(world.counters.batchesLate).toBeLessThanOrEqual(1);
  });

  it('before it is known how long a commit takes', () => {
    const world = new GateWorld();
    const client = new ClientThinkTime();
    for (let round = 0; round < 10; round += 1) {
      world.answerAll([client]);
      world.request(client);
    }
    world.answerAll([client]);
    world.request(new ClientThinkTime());
    expect(world.take()).toHaveLength(11);
  });

  it('for a while, when it was in vain too often', () => {
    const world = new GateWorld();
    const clients = world.clients(2);
    const [one] = clients;
    if (one === undefined) throw new Error('no clients');
    /** Two come, and a third that came in time before does not. */
    const fail = (): void => {
      const third = world.clients(1)[0] ?? one;
      world.answerAll([one, third]);
      world.request(one);
      world.commit(COMMIT_MS * 2);
    };
    while (world.counters.batchesLate < 2) fail();
    const held = world.counters.proposalsBatched;
    for (let round = 0; round < 5; round += 1) fail();
    expect(world.counters.proposalsBatched).toBe(held);
    world.clock.advance(10_000);
    fail();
    expect(world.counters.proposalsBatched).toBe(held + 1);
  });
});

describe('a leader that stands down', () => {
  it('gives back what it held, and waits for nobody', () => {
    const world = new GateWorld();
    const clients = world.clients(3);
    world.answerAll(clients);
    const entries = clients.slice(1).map((client) => world.request(client));
    expect(world.batcher.standDown()).toEqual(entries);
    expect(world.take()).toEqual([]);
    world.clock.advance(100);
    expect(world.take()).toEqual([]);
    world.answerAll(clients);
    world.request(new ClientThinkTime());
    expect(world.take()).toHaveLength(1);
  });
});

describe('a leader that stops', () => {
  it('proposes what it held', () => {
    const world = new GateWorld();
    const clients = world.clients(3);
    world.answerAll(clients);
    for (const client of clients.slice(1)) world.request(client);
    world.batcher.stop();
    expect(world.take()).toHaveLength(2);
  });
});
