import { CreateMode, MAX_FRAME_BYTES, type ServerMessage } from '@holdfast/protocol';
import { serverId } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import {
  MAX_PARKED_READS,
  MAX_UNANSWERED_READS,
  MAX_UNREAD_BEFORE_ANSWER_BYTES,
  MAX_UNREAD_SECONDS,
  READ_RETRY_MS,
  SESSION_READ_WAIT_MS,
} from '../../src/limits.ts';
import { decodePeerMessages, encodePeerMessages } from '../../src/peers/peer-message.ts';
import { ELECTION_TIMEOUT_MS, LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

const ROOT = { type: 'exists', path: '/' } as const;
const NODE = { type: 'get', path: '/node' } as const;

function trio(): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  return ensemble;
}

function write(ensemble: LoopbackEnsemble): void {
  const writer = ensemble.server(1).connect();
  writer.attach(99);
  writer.request(1, { type: 'create', path: '/node', data: new Uint8Array([7]), mode: CreateMode.persistent });
  writer.take();
}

function code(client: TestClient): string | undefined {
  const [message] = client.take();
  return message?.type === 'answer' && message.answer.type === 'error' ? message.answer.code : undefined;
}

describe('a linearizable read', () => {
  it.each([1, 2])('at server %i needs no session', (id) => {
    const client = trio().server(id).connect();
    client.read(3, ROOT);
    expect(client.take()).toMatchObject([{ type: 'answer', id: 3, answer: { type: 'exists' } }]);
  });

  it('at a follower that lags waits until it has applied what was committed before', () => {
    const ensemble = trio();
    ensemble.server(2).lagging = true;
    write(ensemble);
    const client = ensemble.server(2).connect();
    client.read(1, NODE);
    expect(client.take()).toEqual([]);
    ensemble.server(2).lagging = false;
    ensemble.server(2).schedule();
    expect(client.take()).toMatchObject([{ type: 'answer', id: 1, answer: { type: 'get' } }]);
  });

  it.each([1, 2])('at server %i waits for the quorum, all of a turn for the same', (id) => {
    const ensemble = trio();
    const client = ensemble.server(id).connect();
    ensemble.holdReads = true;
    ensemble.payloads.length = 0;
    for (const read of [1, 2, 3]) client.read(read, ROOT);
    expect(client.take()).toEqual([]);
    expect(ensemble.server(1).pendingReads).toBe(1);
    expect(ensemble.payloads.flatMap(({ payload }) => decodePeerMessages(payload))).toHaveLength(id === 1 ? 0 : 1);
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    expect(client.take()).toHaveLength(3);
  });

  it.each([1, 2, 3])('at server %i is asked again of the next leader when the leader changes meanwhile', (id) => {
    const ensemble = trio();
    const client = ensemble.server(id).connect();
    ensemble.holdReads = true;
    client.read(1, NODE);
    client.take();
    ensemble.depose();
    client.read(2, NODE);
    const answers = (): ServerMessage[] => client.take().filter(({ type }) => type === 'answer');
    expect(answers()).toEqual([]);
    ensemble.holdReads = false;
    ensemble.elect(2);
    ensemble.clock.advance(READ_RETRY_MS);
    expect(answers()).toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  it('waits for a leader to be known; beyond a bound it is answered NO_LEADER', () => {
    const ensemble = new LoopbackEnsemble(3);
    const clients = Array.from({ length: Math.ceil(MAX_PARKED_READS / MAX_UNANSWERED_READS) + 1 }, () =>
      ensemble.server(2).connect(),
    );
    for (const client of clients)
      for (let read = 1; read <= MAX_UNANSWERED_READS; read += 1) client.read(read, ROOT, 'linearizable');
    const refused = clients.flatMap((client) => client.take());
    expect(refused).toHaveLength(clients.length * MAX_UNANSWERED_READS - MAX_PARKED_READS);
    expect(refused[0]).toMatchObject({ answer: { type: 'error', code: 'NO_LEADER' } });
    ensemble.elect(1);
    const answered = clients.flatMap((client) => client.take()).filter(({ type }) => type === 'answer');
    expect(answered).toHaveLength(MAX_PARKED_READS);
  });

  it('ends with its connection when no leader is found for long', () => {
    const ensemble = new LoopbackEnsemble(3);
    const client = ensemble.server(2).connect();
    client.read(1, ROOT);
    ensemble.clock.advance(3 * ELECTION_TIMEOUT_MS);
    expect(client.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'NO_LEADER' });
    const other = ensemble.server(3).connect();
    ensemble.elect(1);
    expect(other.take().filter(({ type }) => type === 'answer')).toEqual([]);
  });

  it('is answered NO_LEADER at once by a server that cannot reach the leader', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    ensemble.cut(2, 1);
    client.read(2, ROOT);
    expect(code(client)).toBe('NO_LEADER');
  });
});

describe('a linearizable read whose answer is lost', () => {
  it('with the connection to the leader ends at once: its client can ask elsewhere', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    ensemble.holdReads = true;
    client.read(1, ROOT);
    expect(client.take()).toEqual([]);
    ensemble.server(2).losePeer(1);
    expect(code(client)).toBe('NO_LEADER');
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    expect(client.take()).toEqual([]);
    client.read(2, ROOT);
    expect(client.take()).toMatchObject([{ type: 'answer', id: 2, answer: { type: 'exists' } }]);
  });

  it('at the leader, which says so, ends likewise', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    ensemble.holdReads = true;
    client.read(1, ROOT);
    expect(client.take()).toEqual([]);
    ensemble.server(2).receive(serverId(1), encodePeerMessages([{ type: 'lost' }]));
    expect(code(client)).toBe('NO_LEADER');
  });

  it('with the connection to another server goes on', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    ensemble.holdReads = true;
    client.read(1, ROOT);
    ensemble.server(2).losePeer(3);
    expect(client.take()).toEqual([]);
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    expect(client.take()).toMatchObject([{ type: 'answer', id: 1, answer: { type: 'exists' } }]);
  });
});

describe('a session read', () => {
  it('is answered at once when the server has applied what the reader has seen', () => {
    const ensemble = trio();
    ensemble.holdReads = true;
    const client = ensemble.server(2).connect();
    client.read(1, ROOT, 'session', ensemble.log.length);
    expect(client.take()).toMatchObject([{ type: 'answer', id: 1, answer: { type: 'exists' } }]);
  });

  it('waits for it otherwise', () => {
    const ensemble = trio();
    ensemble.server(2).lagging = true;
    write(ensemble);
    const client = ensemble.server(2).connect();
    client.read(1, NODE, 'session', ensemble.log.length);
    expect(client.take()).toEqual([]);
    ensemble.server(2).lagging = false;
    ensemble.server(2).schedule();
    expect(client.take()).toMatchObject([{ type: 'answer', answer: { type: 'get' } }]);
  });

  it('is answered NOT_CAUGHT_UP after a bounded wait', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    client.read(1, ROOT, 'session', ensemble.log.length + 1);
    ensemble.clock.advance(SESSION_READ_WAIT_MS / 2);
    client.read(2, ROOT, 'session', ensemble.log.length + 1);
    ensemble.clock.advance(SESSION_READ_WAIT_MS / 2 - 1);
    expect(client.take()).toEqual([]);
    ensemble.clock.advance(2);
    expect(code(client)).toBe('NOT_CAUGHT_UP');
    ensemble.clock.advance(SESSION_READ_WAIT_MS);
    expect(code(client)).toBe('NOT_CAUGHT_UP');
  });
});

describe('a local read', () => {
  it('shows what the server has applied, without a leader', () => {
    const ensemble = new LoopbackEnsemble(3);
    const client = ensemble.server(2).connect();
    client.read(1, NODE, 'local');
    expect(code(client)).toBe('NOT_FOUND');
  });
});

describe('a client that reads too much at once', () => {
  it('is answered OVERLOADED for what is too much', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    ensemble.holdReads = true;
    for (let read = 1; read <= MAX_UNANSWERED_READS + 1; read += 1) client.read(read, ROOT);
    const early = client.take();
    expect(early).toMatchObject([{ id: MAX_UNANSWERED_READS + 1, answer: { type: 'error', code: 'OVERLOADED' } }]);
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    expect(client.take()).toHaveLength(MAX_UNANSWERED_READS);
  });

  it('is answered though others wait longer, more of them together than a call can have arguments', () => {
    const ensemble = trio();
    const [first, ...others] = Array.from({ length: 141 }, () => ensemble.server(1).connect());
    first?.read(1, ROOT, 'session', 2 ** 52);
    ensemble.clock.advance(SESSION_READ_WAIT_MS / 2);
    for (const client of others) {
      for (let id = 1; id <= MAX_UNANSWERED_READS; id += 1) client.read(id, ROOT, 'session', 2 ** 52);
    }
    ensemble.clock.advance(SESSION_READ_WAIT_MS / 2 + 1);
    expect(first?.take()).toMatchObject([{ answer: { code: 'NOT_CAUGHT_UP' } }]);
    ensemble.clock.advance(SESSION_READ_WAIT_MS / 2);
    for (const client of others) expect(client.take()).toHaveLength(MAX_UNANSWERED_READS);
  });

  it('and reads no answer gets no more than a frame beyond what it may leave unread, and is cut off', () => {
    const ensemble = trio();
    const writer = ensemble.server(1).connect();
    writer.attach();
    for (let number = 1; number <= 400; number += 1) {
      const path = `/${String(number).padStart(1_000, 'n')}`;
      writer.request(number, { type: 'create', path, data: new Uint8Array(), mode: CreateMode.persistent });
    }
    expect(writer.take()).toHaveLength(400);
    let unreadBytes = 0;
    const client = ensemble.server(1).connect({ bufferedBytes: () => unreadBytes });
    client.sent = (bytes) => (unreadBytes += bytes);
    for (let id = 1; id <= MAX_UNANSWERED_READS; id += 1) {
      client.read(id, { type: 'children', path: '/' }, 'local');
    }
    expect(client.take().length).toBeLessThan(10);
    expect(unreadBytes).toBeLessThan(MAX_UNREAD_BEFORE_ANSWER_BYTES + MAX_FRAME_BYTES);
    expect(ensemble.server(1).machine.connections.unreadBytes).toBe(unreadBytes);
    // It reads a part: as much again is answered.
    unreadBytes = 0;
    ensemble.clock.advance(1_000);
    expect(client.take().length).toBeGreaterThan(0);
    ensemble.clock.advance((MAX_UNREAD_SECONDS - 2) * 1_000);
    expect(client.open).toBe(true);
    ensemble.clock.advance(3_000);
    expect(client.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'OVERLOADED' });
    expect(client.destroyed).toBe(true);
    expect(ensemble.server(1).machine.connections.unreadBytes).toBe(0);
  });

  it('gets large answers in frames that keep to the limit', () => {
    const ensemble = trio();
    const writer = ensemble.server(1).connect();
    writer.attach();
    const data = new Uint8Array(1024 * 1024);
    writer.request(1, { type: 'create', path: '/node', data, mode: CreateMode.persistent });
    writer.take();
    const client = ensemble.server(1).connect();
    for (let read = 1; read <= 10; read += 1) client.read(read, NODE, 'local');
    ensemble.clock.runChecks();
    expect(client.frames.length).toBeGreaterThan(2);
    expect(client.take()).toHaveLength(10);
  });
});
