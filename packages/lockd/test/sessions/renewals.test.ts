import { describe, expect, it } from 'vitest';
import { MAX_UNANSWERED_HEARTBEATS } from '../../src/limits.ts';
import { decodePeerMessages } from '../../src/peers/peer-message.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

const TIMEOUT_MS = 2_000;

function trio(): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  return ensemble;
}

function attached(ensemble: LoopbackEnsemble, id: number, secret = 1): TestClient {
  const client = ensemble.server(id).connect();
  client.attach(secret, { timeoutMs: TIMEOUT_MS });
  return client;
}

describe('a heartbeat', () => {
  it.each([1, 2])('is acknowledged at server %i', (id) => {
    const client = attached(trio(), id);
    client.heartbeat(5);
    expect(client.take()).toEqual([{ type: 'renewed', id: 5 }]);
  });

  it.each([1, 2])('is not acknowledged at server %i before a quorum has confirmed the leader', (id) => {
    const ensemble = trio();
    const client = attached(ensemble, id);
    ensemble.holdReads = true;
    client.heartbeat(5);
    expect(client.take()).toEqual([]);
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    expect(client.take()).toEqual([{ type: 'renewed', id: 5 }]);
  });

  it.each([1, 2])('at server %i that comes after a round began is not acknowledged by that round', (id) => {
    const ensemble = trio();
    const [early, late] = [attached(ensemble, id, 1), attached(ensemble, id, 2)];
    ensemble.holdReads = true;
    early.heartbeat(5);
    ensemble.clock.runChecks();
    early.heartbeat(7);
    ensemble.clock.runChecks();
    expect(ensemble.server(1).pendingReads).toBe(2);
    // One turn after the round began, and in the very turn in which it ends.
    late.heartbeat(6);
    ensemble.server(1).confirmOldestRead();
    expect([early.take(), late.take()]).toEqual([[{ type: 'renewed', id: 5 }], []]);
    expect(ensemble.server(1).pendingReads).toBe(2);
    ensemble.server(1).confirmOldestRead();
    expect([early.take(), late.take()]).toEqual([[{ type: 'renewed', id: 7 }], []]);
    ensemble.server(1).confirmOldestRead();
    expect([early.take(), late.take()]).toEqual([[], [{ type: 'renewed', id: 6 }]]);
  });

  it.each([1, 2])('is never acknowledged at server %i when the leader has lost its lead', (id) => {
    const ensemble = trio();
    const client = attached(ensemble, id);
    ensemble.holdReads = true;
    client.heartbeat(5);
    client.take();
    ensemble.depose();
    ensemble.holdReads = false;
    ensemble.elect(3);
    ensemble.clock.advance(1_000);
    expect(client.take().filter((message) => message.type === 'renewed')).toEqual([]);
    client.heartbeat(6);
    expect(client.take()).toEqual([{ type: 'renewed', id: 6 }]);
  });

  it('is not acknowledged by a server that knows no leader', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    ensemble.depose();
    client.take();
    client.heartbeat(5);
    expect(client.take()).toEqual([]);
  });

  it('shares its round with all others of the turn', () => {
    const ensemble = trio();
    const clients = [1, 2, 3].map((secret) => attached(ensemble, 1, secret));
    ensemble.holdReads = true;
    for (const client of clients) client.heartbeat(1);
    ensemble.clock.runChecks();
    expect(ensemble.server(1).pendingReads).toBe(1);
  });

  it('goes to the leader in one message with all others of the turn', () => {
    const ensemble = trio();
    const clients = [1, 2, 3].map((secret) => attached(ensemble, 2, secret));
    ensemble.payloads.length = 0;
    for (const client of clients) client.heartbeat(1);
    ensemble.clock.runChecks();
    const sent = ensemble.payloads.filter(({ from }) => from === 2);
    expect(sent).toHaveLength(1);
    expect(decodePeerMessages(sent[0]?.payload ?? new Uint8Array())).toMatchObject([
      { type: 'keep-alive', sessions: { length: 3 } },
    ]);
  });

  it('is dropped beyond a bound of unanswered ones, and counts again once they are answered', () => {
    const ensemble = trio();
    const client = attached(ensemble, 1);
    ensemble.holdReads = true;
    for (let id = 1; id <= MAX_UNANSWERED_HEARTBEATS + 5; id += 1) client.heartbeat(id);
    ensemble.clock.runChecks();
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    expect(client.take()).toHaveLength(MAX_UNANSWERED_HEARTBEATS);
    client.heartbeat(999);
    expect(client.take()).toEqual([{ type: 'renewed', id: 999 }]);
  });
});

describe('heartbeats that are lost', () => {
  const ways: readonly [string, number, (ensemble: LoopbackEnsemble, id: number) => void][] = [
    [
      'with the connection to the leader',
      2,
      (ensemble) => {
        ensemble.cut(1, 2);
        ensemble.server(2).losePeer(1);
      },
    ],
    ['with the leader, on their way to it', 2, (ensemble) => ensemble.depose()],
    ['with the leader, at that server', 1, (ensemble) => ensemble.depose()],
    [
      'at a leader that was not ready yet',
      3,
      (ensemble) => {
        ensemble.server(3).lagging = true;
        ensemble.elect(3);
      },
    ],
  ];

  it.each(ways)('%s count as unanswered no longer: the next ones are heard', (_, id, lose) => {
    const ensemble = trio();
    const client = attached(ensemble, id);
    ensemble.holdReads = true;
    const fill = () => {
      for (let beat = 1; beat <= MAX_UNANSWERED_HEARTBEATS; beat += 1) client.heartbeat(beat);
    };
    // As many as may be unanswered, on their way and then just received when it happens.
    fill();
    ensemble.clock.runChecks();
    lose(ensemble, id);
    ensemble.clock.runChecks();
    fill();
    lose(ensemble, id);
    ensemble.clock.runChecks();
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    ensemble.clock.runChecks();
    ensemble.heal();
    ensemble.server(id).lagging = false;
    if (ensemble.leader !== 1) ensemble.elect(1);
    client.take();
    client.heartbeat(999);
    expect(client.take()).toEqual([{ type: 'renewed', id: 999 }]);
  });

  it('since they could not be sent to the leader count as unanswered no longer', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    ensemble.cut(2, 1);
    for (let beat = 1; beat <= MAX_UNANSWERED_HEARTBEATS; beat += 1) client.heartbeat(beat);
    expect(client.take()).toEqual([]);
    ensemble.heal();
    client.heartbeat(999);
    expect(client.take()).toEqual([{ type: 'renewed', id: 999 }]);
  });

  it('are not acknowledged by a late answer of the leader on the next connection', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    ensemble.holdReads = true;
    client.heartbeat(5);
    ensemble.clock.runChecks();
    ensemble.server(2).losePeer(1);
    ensemble.clock.runChecks();
    ensemble.holdReads = false;
    ensemble.server(1).schedule();
    expect(client.take()).toEqual([]);
    client.heartbeat(6);
    expect(client.take()).toEqual([{ type: 'renewed', id: 6 }]);
  });
});

describe('a session', () => {
  it.each([1, 2, 3])('has its full time again from when it attaches anew, at server %i', (id) => {
    const ensemble = trio();
    const first = attached(ensemble, 2);
    ensemble.clock.advance(TIMEOUT_MS * 0.9);
    first.drop();
    const again = attached(ensemble, id);
    ensemble.clock.advance(TIMEOUT_MS * 0.9);
    again.heartbeat(1);
    expect(again.take()).toEqual([{ type: 'renewed', id: 1 }]);
  });

  it.each([1, 2])('at server %i lives by its heartbeats', (id) => {
    const ensemble = trio();
    const client = attached(ensemble, id);
    for (let beat = 1; beat <= 20; beat += 1) {
      ensemble.clock.advance(TIMEOUT_MS * 0.9);
      client.heartbeat(beat);
      expect(client.take()).toEqual([{ type: 'renewed', id: beat }]);
    }
  });

  it.each([1, 2])('at server %i lives by its requests', (id) => {
    const ensemble = trio();
    const client = attached(ensemble, id);
    for (let number = 1; number <= 20; number += 1) {
      ensemble.clock.advance(TIMEOUT_MS * 0.9);
      client.acquire(number, 'a', false);
      expect(client.take()).toMatchObject([{ type: 'reply', number }]);
    }
  });

  it('does not live by its reads', () => {
    const ensemble = trio();
    const client = attached(ensemble, 1);
    for (let read = 1; read <= 4; read += 1) {
      ensemble.clock.advance(TIMEOUT_MS * 0.45);
      client.read(read, { type: 'exists', path: '/' });
    }
    ensemble.clock.advance(TIMEOUT_MS * 0.45);
    expect(client.take()).toContainEqual(expect.objectContaining({ type: 'ended', reason: 'expired' }));
  });

  it.each([1, 2, 3])('at server %i expires without a sign of life, with its holds', (id) => {
    const ensemble = trio();
    const client = attached(ensemble, id, 1);
    client.acquire(1, 'a');
    client.take();
    const waiter = attached(ensemble, 1, 2);
    waiter.acquire(1, 'a');
    ensemble.clock.advance(TIMEOUT_MS * 0.5);
    waiter.heartbeat(1);
    waiter.take();
    ensemble.clock.advance(TIMEOUT_MS * 0.6);
    expect(client.take()).toMatchObject([{ type: 'ended', reason: 'expired' }]);
    expect(waiter.take()).toMatchObject([{ type: 'granted', lock: 'a' }]);
  });

  it('gets its full time from a new leader', () => {
    const ensemble = trio();
    const client = attached(ensemble, 3);
    ensemble.clock.advance(TIMEOUT_MS * 0.9);
    ensemble.depose();
    ensemble.elect(2);
    ensemble.clock.advance(TIMEOUT_MS * 0.9);
    client.heartbeat(1);
    expect(client.take().at(-1)).toEqual({ type: 'renewed', id: 1 });
  });

  it('gets that time only once the new leader has applied what its predecessors left', () => {
    const ensemble = trio();
    const client = attached(ensemble, 3);
    ensemble.server(2).lagging = true;
    ensemble.elect(2);
    const before = ensemble.log.length;
    ensemble.clock.advance(TIMEOUT_MS * 1.5);
    client.heartbeat(1);
    ensemble.clock.advance(TIMEOUT_MS * 1.5);
    expect(client.take().map((message) => message.type)).not.toContain('renewed');
    expect(ensemble.log).toHaveLength(before);
    ensemble.server(2).lagging = false;
    ensemble.server(2).schedule();
    expect(client.take()).toEqual([{ type: 'renewed', id: 1 }]);
    ensemble.clock.advance(TIMEOUT_MS * 0.9);
    client.heartbeat(2);
    expect(client.take()).toEqual([{ type: 'renewed', id: 2 }]);
  });

  it('does not expire while nobody leads', () => {
    const ensemble = trio();
    const client = attached(ensemble, 3);
    ensemble.depose();
    ensemble.clock.advance(10 * TIMEOUT_MS);
    ensemble.elect(2);
    client.drop();
    const again = ensemble.server(2).connect();
    expect(again.attach()).toMatchObject({ generation: 2 });
  });
});

describe('a renewal after the expiry was proposed', () => {
  it('is not acknowledged', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    ensemble.holdCommits = true;
    ensemble.clock.advance(TIMEOUT_MS + 200);
    client.heartbeat(1);
    expect(client.take()).toEqual([]);
    ensemble.holdCommits = false;
    ensemble.server(1).schedule();
    expect(client.take()).toMatchObject([{ type: 'ended', reason: 'expired' }]);
  });

  it('counts again when an attach came first', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    // The attach is in the log when the expiry is decided, and not yet applied.
    ensemble.server(1).lagging = true;
    client.sendAttach(1, { id: 2 });
    ensemble.clock.advance(TIMEOUT_MS + 200);
    ensemble.server(1).lagging = false;
    ensemble.server(1).schedule();
    expect(client.take()).toMatchObject([{ type: 'attached', reply: { generation: 2 } }]);
    client.heartbeat(3);
    expect(client.take()).toEqual([{ type: 'renewed', id: 3 }]);
    ensemble.clock.advance(TIMEOUT_MS * 0.9);
    client.heartbeat(4);
    expect(client.take()).toEqual([{ type: 'renewed', id: 4 }]);
  });

  it('is proposed only once at a time, and again after a refusal', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    ensemble.holdCommits = true;
    const before = ensemble.log.length;
    ensemble.clock.advance(TIMEOUT_MS * 3);
    ensemble.holdCommits = false;
    ensemble.rejectWith = 'overloaded';
    ensemble.server(1).schedule();
    ensemble.clock.advance(10);
    expect(client.take()).toEqual([]);
    ensemble.rejectWith = undefined;
    ensemble.clock.advance(500);
    expect(client.take()).toMatchObject([{ type: 'ended', reason: 'expired' }]);
    expect(ensemble.log.length).toBe(before + 1);
  });
});
