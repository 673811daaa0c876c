import { CommandType, encodeCommand } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { decodePeerMessages, encodePeerMessages } from '../../src/peers/peer-message.ts';
import { decodeEntryHeader, encodeEntry, stampEntry } from '@holdfast/state';
import { serverId } from '@holdfast/raft';
import { MAX_UNANSWERED_REQUESTS } from '../../src/limits.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

function trio(leader = 1): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  if (leader !== 0) ensemble.elect(leader);
  return ensemble;
}

/** A client of server `id` with a session. */
function attached(ensemble: LoopbackEnsemble, id: number, secret = 1): TestClient {
  const client = ensemble.server(id).connect();
  client.attach(secret);
  return client;
}

function replies(client: TestClient): number[] {
  return client.take().flatMap((message) => (message.type === 'reply' ? [message.number] : []));
}

describe('requests at a follower', () => {
  it('of all its clients go to the leader in one message a turn', () => {
    const ensemble = trio();
    const clients = [1, 2, 3].map((secret) => attached(ensemble, 2, secret));
    ensemble.payloads.length = 0;
    for (const client of clients) {
      client.acquire(1, 'a');
      client.acquire(2, 'b');
    }
    for (const client of clients) expect(replies(client)).toEqual([1, 2]);
    const forwards = ensemble.payloads.filter(({ from }) => from === 2);
    expect(forwards).toHaveLength(1);
    expect(decodePeerMessages(forwards[0]?.payload ?? new Uint8Array())).toMatchObject([{ type: 'forward' }]);
  });

  it('are stamped by the leader', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    client.acquire(1, 'a');
    client.take();
    const header = decodeEntryHeader(ensemble.log.at(-1)?.data ?? new Uint8Array());
    expect(header.stamp).toBe(Math.floor(ensemble.clock.wallMs()));
  });

  it('carry the server that they came from, whatever that has written there', () => {
    const ensemble = trio();
    const clients = [1, 2, 3].map((id) => attached(ensemble, id, id));
    for (const client of clients) client.acquire(1, 'a');
    for (const client of clients) client.take();
    expect(ensemble.log.slice(-3).map(({ data }) => decodeEntryHeader(data).via)).toEqual([1, 2, 3]);

    const header = { command: CommandType.acquire, session: 1, generation: 1, number: 9, ackedUpTo: 0 };
    const forged = encodeEntry(header, new Uint8Array());
    stampEntry(forged, 0, 1);
    ensemble.server(1).receive(serverId(2), encodePeerMessages([{ type: 'forward', epoch: 1, entries: [forged] }]));
    ensemble.clock.runChecks();
    expect(decodeEntryHeader(ensemble.log.at(-1)?.data ?? new Uint8Array()).via).toBe(2);
  });

  it('of another server for a session that is attached here change nothing, and its client hears nothing of them', () => {
    const ensemble = trio();
    const victim = attached(ensemble, 1);
    victim.acquire(1, 'treasure');
    const [held] = victim.take();
    if (held?.type !== 'reply' || held.reply.type !== 'acquire') throw new Error('no hold');
    const { acquireIndex, token } = held.reply;
    const payload = encodeCommand({ type: 'release', lock: 'treasure', acquireIndex });
    const session = ensemble.server(1).machine.state.sessions()[0]?.id ?? 0;
    for (const number of [1, 2, 3]) {
      const header = { command: CommandType.release, session, generation: 1, number, ackedUpTo: 0 };
      const entries = [encodeEntry(header, payload)];
      ensemble.server(1).receive(serverId(2), encodePeerMessages([{ type: 'forward', epoch: 1, entries }]));
      ensemble.clock.runChecks();
    }
    expect(victim.take()).toEqual([]);
    expect(ensemble.server(1).machine.state.query({ type: 'verify', lock: 'treasure', acquireIndex })).toMatchObject({
      token,
    });
    victim.request(2, { type: 'release', lock: 'treasure', acquireIndex });
    expect(victim.take()).toMatchObject([{ type: 'reply', number: 2, reply: { type: 'done' } }]);
  });

  it('of a later version are answered UNSUPPORTED, through a follower, too, and their sessions go on', () => {
    const ensemble = trio();
    for (const id of [1, 2]) {
      const client = attached(ensemble, id, id);
      client.send({ type: 'request', number: 1, ackedUpTo: 0, command: 60, payload: new Uint8Array([1]) });
      client.acquire(2, `lock ${id}`);
      expect(client.take()).toMatchObject([
        { type: 'reply', number: 1, reply: { type: 'error', code: 'UNSUPPORTED' } },
        { type: 'reply', number: 2, reply: { type: 'acquire' } },
      ]);
    }
    for (const server of ensemble.servers) expect(server.failures).toEqual([]);
  });

  it('take effect in the order in which they were sent', () => {
    const ensemble = trio();
    const client = attached(ensemble, 3);
    for (let number = 1; number <= 500; number += 1) client.acquire(number, `lock ${number % 7}`);
    expect(replies(client)).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
  });

  it.each([
    ["a command that is only the leader's to propose", 1, 64],
    ['a format version', 0, 2],
    ['a group', 2, 1],
    ['identities that the entry has no room for', 40, 1],
  ])('are refused by a leader that does not know %s, since it would stop every server', (_, offset, value) => {
    const ensemble = trio();
    const before = ensemble.log.length;
    const entry = encodeEntry({ command: 6, session: 5, generation: 1, number: 1, ackedUpTo: 0 }, new Uint8Array());
    entry[offset] = value;
    const payload = encodePeerMessages([{ type: 'forward', epoch: 1, entries: [entry, new Uint8Array(3)] }]);
    ensemble.payloads.length = 0;
    ensemble.server(1).receive(serverId(2), payload);
    ensemble.clock.runChecks();
    expect(ensemble.log).toHaveLength(before);
    expect(ensemble.server(1).failures).toEqual([]);
    // Nobody waits for ever for an answer: once for the message, the other server is told.
    const told = ensemble.payloads.filter(({ from, to }) => from === 1 && to === 2);
    expect(told.flatMap((each) => decodePeerMessages(each.payload))).toEqual([
      { type: 'forward-refused', epoch: 1, code: 'UNSUPPORTED' },
    ]);
  });
});

describe('requests while no leader is known', () => {
  it('wait, in order', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    ensemble.depose();
    client.take();
    for (let number = 1; number <= 3; number += 1) client.acquire(number, 'a');
    expect(client.take()).toEqual([]);
    ensemble.elect(2);
    expect(replies(client)).toEqual([1, 2, 3]);
  });

  it('are refused with OVERLOADED beyond a bound, and can be sent again', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    ensemble.depose();
    client.take();
    const data = new Uint8Array(1024 * 1024);
    for (let number = 1; number <= 33; number += 1)
      client.request(number, { type: 'set', path: '/a', data, version: -1 });
    const [resend, ...others] = client.take();
    expect(others).toEqual([]);
    expect(resend).toMatchObject({ type: 'resend', code: 'OVERLOADED' });
    const from = resend?.type === 'resend' ? resend.from : 0;
    expect(from).toBeGreaterThan(5);
    ensemble.elect(2);
    expect(replies(client)).toEqual(Array.from({ length: from - 1 }, (_, n) => n + 1));
    client.acquire(from, 'a');
    expect(replies(client)).toEqual([from]);
  });

  it('are refused to those who have many, not to others, however many connections flood', () => {
    const ensemble = trio();
    const floods = Array.from({ length: 20 }, (_, n) => attached(ensemble, 2, 10 + n));
    const one = attached(ensemble, 2, 1);
    ensemble.depose();
    for (const client of [...floods, one]) client.take();
    for (let number = 1; number <= MAX_UNANSWERED_REQUESTS; number += 1) {
      for (const flood of floods) flood.acquire(number, 'a', false);
    }
    const refused = floods.filter((flood) => flood.take().some(({ type }) => type === 'resend'));
    expect(refused).toHaveLength(floods.length);
    for (let number = 1; number <= 100; number += 1) one.acquire(number, 'b');
    expect(one.take()).toEqual([]);
    ensemble.elect(1);
    expect(replies(one)).toHaveLength(100);
  });
});

describe('a client that floods with large requests', () => {
  it.each([1, 2])('at server %i is refused alone, from the request on that was too much, and goes on later', (id) => {
    const ensemble = trio();
    const [flood, one] = [attached(ensemble, id, 1), attached(ensemble, id, 2)];
    ensemble.holdCommits = true;
    const data = new Uint8Array(1024 * 1024);
    const set = (client: TestClient, number: number): void =>
      client.request(number, { type: 'set', path: '/a', data, version: -1 });
    for (let number = 1; number <= 100; number += 1) set(flood, number);
    const [resend, ...others] = flood.take();
    expect(others).toEqual([]);
    expect(resend).toMatchObject({ type: 'resend', code: 'OVERLOADED' });
    const from = resend?.type === 'resend' ? resend.from : 0;
    // What an SDK has under way at most, and two thirds of the server's share.
    expect(from).toBeGreaterThan(9);
    expect(from).toBeLessThan(15);
    for (let number = 1; number <= 3; number += 1) set(one, number);
    one.acquire(4, 'b');
    expect(one.take()).toEqual([]);
    ensemble.holdCommits = false;
    ensemble.server(1).schedule();
    expect(replies(one)).toEqual([1, 2, 3, 4]);
    expect(replies(flood)).toHaveLength(from - 1);
    for (let number = from; number <= from + 3; number += 1) set(flood, number);
    expect(replies(flood)).toHaveLength(4);
    expect(ensemble.server(id).machine.clients.unansweredRequestBytes).toBeCloseTo(0);
  });
});

describe('requests that may have been lost', () => {
  it.each([1, 2])('with the leader are asked for again, at server %i [lost-proposal-hangs-client]', (id) => {
    const ensemble = trio(1);
    const client = attached(ensemble, id);
    client.acquire(1, 'a');
    client.take();
    ensemble.holdCommits = true;
    for (const number of [2, 3]) client.acquire(number, 'a');
    client.take();
    ensemble.depose();
    expect(client.take()).toMatchObject(
      [
        { type: 'leader', leader: 0 },
        { type: 'resend', from: 2, code: 'LEADER_CHANGED' },
      ].toReversed(),
    );
    ensemble.holdCommits = false;
    ensemble.elect(3);
    for (const number of [2, 3]) client.acquire(number, 'a');
    expect(replies(client)).toEqual([2, 3]);
  });

  it('are asked for when the same leader begins a new term', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    ensemble.holdCommits = true;
    client.acquire(1, 'a');
    client.take();
    ensemble.server(1).dropProposals();
    ensemble.elect(1);
    expect(client.take()).toMatchObject([{ type: 'resend', from: 1, code: 'LEADER_CHANGED' }]);
  });

  it('are asked for when the connection to the leader breaks', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    ensemble.holdCommits = true;
    client.acquire(1, 'a');
    client.take();
    ensemble.server(2).losePeer(1);
    expect(client.take()).toMatchObject([{ type: 'resend', from: 1 }]);
  });

  it('are asked for when the leader has lost the connection on which they came', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    ensemble.clock.runChecks();
    client.acquire(1, 'a');
    // The forward leaves in the first check phase and is lost before the leader's turn.
    ensemble.holdCommits = true;
    client.take();
    ensemble.server(1).dropProposals();
    ensemble.server(1).losePeer(2);
    expect(client.take()).toMatchObject([{ type: 'resend', from: 1 }]);
  });

  it('are asked for when the leader cannot be reached', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    ensemble.cut(2, 1);
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'resend', from: 1, code: 'OVERLOADED' }]);
  });

  it('and were not are answered once more from memory, without a second effect', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    client.acquire(1, 'a');
    const first = client.take();
    // On the first connection the copy would be dropped: its answer has left there.
    client.drop();
    const again = attached(ensemble, 3);
    again.acquire(1, 'a');
    const second = again.take();
    expect(first).toMatchObject([{ type: 'reply', number: 1 }]);
    expect(second[0]).toMatchObject({ reply: (first[0] as { reply: object }).reply });
  });
});

describe('requests that the leader refuses', () => {
  it.each([
    [1, 'overloaded', 'OVERLOADED'],
    [2, 'overloaded', 'OVERLOADED'],
    [2, 'transferred', 'NO_LEADER'],
  ] as const)('at server %i as %s are asked for again, once', (id, reason, code) => {
    const ensemble = trio(1);
    const client = attached(ensemble, id);
    ensemble.rejectWith = reason;
    for (const number of [1, 2, 3]) client.acquire(number, 'a');
    expect(client.take()).toEqual([{ type: 'resend', from: 1, code }]);
    ensemble.rejectWith = undefined;
    for (const number of [1, 2, 3]) client.acquire(number, 'a');
    expect(replies(client)).toEqual([1, 2, 3]);
  });

  it('are not asked for again because of a refusal of earlier ones', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    ensemble.rejectWith = 'overloaded';
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'resend', from: 1 }]);
    ensemble.rejectWith = undefined;
    ensemble.holdCommits = true;
    client.acquire(1, 'a');
    client.take();
    const late = encodePeerMessages([{ type: 'forward-refused', epoch: 1, code: 'OVERLOADED' }]);
    ensemble.server(2).receive(serverId(1), late);
    expect(client.take()).toEqual([]);
  });

  it('because it does not lead are asked for again', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    ensemble.payloads.length = 0;
    // Server 3 hears from server 2 as if it led.
    const entry = encodeEntry({ command: 6, session: 5, generation: 1, number: 1, ackedUpTo: 0 }, new Uint8Array());
    ensemble.server(3).receive(serverId(2), encodePeerMessages([{ type: 'forward', epoch: 1, entries: [entry] }]));
    client.take();
    const answer = ensemble.payloads.find(({ from, to }) => from === 3 && to === 2);
    expect(decodePeerMessages(answer?.payload ?? new Uint8Array())).toEqual([
      { type: 'forward-refused', epoch: 1, code: 'NO_LEADER' },
    ]);
  });
});

describe('requests at a leader that transfers leadership', () => {
  /** Server 3 has proposed request 1 and was given back requests 2 and 3. */
  function transferring(): { readonly ensemble: LoopbackEnsemble; readonly client: TestClient } {
    const ensemble = trio(3);
    const client = attached(ensemble, 3);
    client.acquire(1, 'a');
    client.take();
    ensemble.rejectWith = 'transferred';
    client.acquire(2, 'a');
    client.acquire(3, 'b');
    expect(client.take()).toEqual([]);
    ensemble.rejectWith = undefined;
    ensemble.successor = 2;
    return { ensemble, client };
  }

  it('go to the successor in order, those that were held back first, and the client hears of nothing but the answers', () => {
    const { ensemble, client } = transferring();
    ensemble.depose();
    client.acquire(4, 'c');
    expect(client.take()).toMatchObject([{ type: 'leader', leader: 0 }]);
    ensemble.elect(2);
    const messages = client.take();
    expect(messages.map(({ type }) => type)).toEqual(['leader', 'reply', 'reply', 'reply']);
    expect(messages.flatMap((message) => (message.type === 'reply' ? [message.number] : []))).toEqual([2, 3, 4]);
  });

  it('are asked for again, each once, when another server leads in the end', () => {
    const { ensemble, client } = transferring();
    ensemble.depose();
    client.acquire(4, 'c');
    client.take();
    ensemble.successor = 0;
    ensemble.elect(1);
    expect(client.take().filter(({ type }) => type !== 'leader')).toEqual([
      { type: 'resend', from: 2, code: 'LEADER_CHANGED' },
    ]);
    for (const number of [2, 3, 4]) client.acquire(number, 'd');
    expect(replies(client)).toEqual([2, 3, 4]);
  });

  it('of another server are given back to it', () => {
    const ensemble = trio(1);
    const client = attached(ensemble, 2);
    ensemble.rejectWith = 'transferred';
    for (const number of [1, 2, 3]) client.acquire(number, 'a');
    expect(client.take()).toEqual([{ type: 'resend', from: 1, code: 'NO_LEADER' }]);
    expect(ensemble.server(1).machine.parkedBytes).toBe(0);
  });
});

describe('a gap in the request numbers', () => {
  it('is told with the number to go on from', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    client.acquire(1, 'a');
    client.take();
    client.acquire(3, 'a');
    client.acquire(4, 'a');
    expect(client.take()).toEqual([{ type: 'resend', from: 2, code: 'OUT_OF_ORDER' }]);
    for (const number of [2, 3, 4]) client.acquire(number, 'a');
    expect(replies(client)).toEqual([2, 3, 4]);
  });
});

describe('what an entry tells', () => {
  it('reaches the session that it concerns, wherever that is attached', () => {
    const ensemble = trio();
    const holder = attached(ensemble, 1, 1);
    const waiter = attached(ensemble, 3, 2);
    holder.acquire(1, 'a');
    const [held] = holder.take();
    waiter.acquire(1, 'a');
    expect(waiter.take()).toMatchObject([{ type: 'reply', reply: { type: 'acquire', token: 0 } }]);
    if (held?.type !== 'reply' || held.reply.type !== 'acquire') throw new Error('not acquired');
    holder.request(2, { type: 'release', lock: 'a', acquireIndex: held.reply.acquireIndex });
    expect(holder.take()).toMatchObject([{ type: 'reply', number: 2, reply: { type: 'done' } }]);
    expect(waiter.take()).toMatchObject([{ type: 'granted', lock: 'a', token: ensemble.log.length }]);
  });

  it('comes before the reply of the same entry', () => {
    const ensemble = trio();
    const client = attached(ensemble, 2);
    client.acquire(1, 'a');
    const [held] = client.take();
    if (held?.type !== 'reply' || held.reply.type !== 'acquire') throw new Error('not acquired');
    client.acquire(2, 'a');
    client.take();
    client.request(3, { type: 'release', lock: 'a', acquireIndex: held.reply.acquireIndex });
    expect(client.take().map((message) => message.type)).toEqual(['granted', 'reply']);
  });

  it('is the end of a session that closes itself, after the reply', () => {
    const client = attached(trio(), 2);
    client.request(1, { type: 'closeSession', session: 0 });
    expect(client.take()).toMatchObject([
      { type: 'reply', number: 1, reply: { type: 'done' } },
      { type: 'ended', reason: 'closed' },
    ]);
    // What was under way has no answer, and closes nothing.
    client.acquire(2, 'a');
    client.heartbeat(1);
    expect(client.take()).toEqual([]);
    expect(client.open).toBe(true);
  });

  it('is the end of a session that an operator closes', () => {
    const ensemble = trio();
    const victim = ensemble.server(3).connect();
    const { session } = victim.attach(7);
    const operator = attached(ensemble, 1, 8);
    operator.request(1, { type: 'closeSession', session });
    expect(operator.take()).toMatchObject([{ type: 'reply', reply: { type: 'done' } }]);
    expect(victim.take()).toMatchObject([{ type: 'ended', reason: 'revoked' }]);
  });
});
