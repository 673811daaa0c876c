import { CommandType } from '@holdfast/protocol';
import { decodeEntryHeader } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { LoopbackEnsemble } from '../../support/loopback.ts';
import type { TestClient } from '../../support/test-client.ts';

/** Sessions at server `id` that have come back at once after every answer, each with `next` as its next request number. */
function promptClients(
  ensemble: LoopbackEnsemble,
  count: number,
  id = 1,
): { clients: readonly TestClient[]; next: number } {
  const clients = Array.from({ length: count }, (_, n) => {
    const client = ensemble.server(id).connect();
    client.attach(n + 1);
    return client;
  });
  let next = 1;
  for (; next <= 8; next += 1) {
    for (const [n, client] of clients.entries()) client.acquire(next, `lock ${n}`);
    // The commit takes a millisecond; what it was is known from then on.
    ensemble.clock.stall(1);
    ensemble.clock.runChecks();
    for (const client of clients) client.take();
  }
  return { clients, next };
}

function answers(client: TestClient): readonly string[] {
  return client.take().map(({ type }) => type);
}

function requestsInLog(ensemble: LoopbackEnsemble): number {
  return ensemble.log.filter(({ data }) => data.length > 0 && decodeEntryHeader(data).command === CommandType.acquire)
    .length;
}

describe('requests that are held for others', () => {
  it('are answered when the others have come', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { clients, next } = promptClients(ensemble, 3);
    const [one, two, three] = clients;
    if (one === undefined || two === undefined || three === undefined) throw new Error('no clients');
    const before = requestsInLog(ensemble);
    one.acquire(next, 'a');
    expect(answers(one)).toEqual([]);
    two.acquire(next, 'a');
    expect(answers(two)).toEqual([]);
    expect(requestsInLog(ensemble)).toBe(before);
    three.acquire(next, 'a');
    for (const client of clients) expect(answers(client)).toEqual(['reply']);
    expect(requestsInLog(ensemble)).toBe(before + 3);
  });

  it('are answered though the others do not come', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { clients, next } = promptClients(ensemble, 3);
    const [one] = clients;
    if (one === undefined) throw new Error('no clients');
    one.acquire(next, 'a');
    expect(answers(one)).toEqual([]);
    ensemble.clock.advance(10);
    expect(answers(one)).toEqual(['reply']);
    expect(ensemble.server(1).machine.counters.batchesLate).toBe(1);
  });

  it('are answered when the connections of the others close', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { clients, next } = promptClients(ensemble, 3);
    const [one, two, three] = clients;
    one?.acquire(next, 'a');
    two?.drop();
    three?.drop();
    expect(one === undefined ? [] : answers(one)).toEqual(['reply']);
  });

  it('of one session stay in order', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { clients, next } = promptClients(ensemble, 2);
    const [one, two] = clients;
    if (one === undefined || two === undefined) throw new Error('no clients');
    for (let number = next; number < next + 20; number += 1) one.acquire(number, 'a');
    two.acquire(next, 'a');
    const numbers = one.take().flatMap((message) => (message.type === 'reply' ? [message.number] : []));
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, n) => next + n));
  });

  it('are asked for again when the leader loses its leadership, and count once', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { clients, next } = promptClients(ensemble, 3);
    const [one] = clients;
    if (one === undefined) throw new Error('no clients');
    const before = requestsInLog(ensemble);
    one.acquire(next, 'a');
    ensemble.depose();
    expect(one.take()).toContainEqual({ type: 'resend', from: next, code: 'LEADER_CHANGED' });
    ensemble.clock.advance(100);
    ensemble.elect(2);
    one.take();
    expect(requestsInLog(ensemble)).toBe(before);
    one.acquire(next, 'a');
    expect(answers(one)).toEqual(['reply']);
    expect(requestsInLog(ensemble)).toBe(before + 1);
  });

  it('go to the successor after a transfer, without the client hearing of it', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(3);
    const { clients, next } = promptClients(ensemble, 3, 3);
    const [one] = clients;
    if (one === undefined) throw new Error('no clients');
    one.acquire(next, 'a');
    expect(one.take()).toEqual([]);
    ensemble.successor = 2;
    ensemble.depose();
    ensemble.elect(2);
    expect(answers(one).filter((type) => type !== 'leader')).toEqual(['reply']);
  });

  it('are answered by a leader that stops', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { clients, next } = promptClients(ensemble, 3);
    const before = requestsInLog(ensemble);
    clients[0]?.acquire(next, 'a');
    ensemble.server(1).machine.disconnectClients();
    ensemble.clock.runChecks();
    expect(requestsInLog(ensemble)).toBe(before + 1);
  });
});

describe('a follower', () => {
  it('holds nothing', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(2);
    const { clients, next } = promptClients(ensemble, 3);
    const [one] = clients;
    if (one === undefined) throw new Error('no clients');
    one.acquire(next, 'a');
    expect(answers(one)).toEqual(['reply']);
    expect(ensemble.server(1).machine.counters.proposalsBatched).toBe(0);
  });
});
