import { createHash } from 'node:crypto';
import { CommandType } from '@holdfast/protocol';
import { decodeEntryHeader } from '@holdfast/state';
import { describe, expect, it, vi } from 'vitest';
import { ATTACH_RETRY_MS } from '../../src/limits.ts';
import { AddressSessions } from '../../src/sessions/address-sessions.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';

function trio(leader = 1): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  if (leader !== 0) ensemble.elect(leader);
  return ensemble;
}

describe('an attach', () => {
  it('creates a session, at the leader and through a follower alike', () => {
    const ensemble = trio();
    for (const id of [1, 2]) {
      const reply = ensemble.server(id).connect().attach(id, { timeoutMs: 3_000 });
      expect(reply).toMatchObject({ type: 'attached', generation: 1, timeoutMs: 3_000, lastApplied: 0, acquires: [] });
    }
  });

  it('counts where it is asked for', () => {
    const ensemble = trio();
    const [leader, follower] = [ensemble.server(1), ensemble.server(2)];
    for (const id of [1, 2]) follower.connect().attach(id);
    expect([leader, follower].map(({ machine }) => machine.counters.attaches)).toEqual([0, 2]);
  });

  it('counts the sessions that an address makes, and none that it attaches again', () => {
    const created = vi.spyOn(AddressSessions.prototype, 'created');
    const ensemble = trio();
    const first = ensemble.server(2).connect();
    const { session } = first.attach(7);
    expect(created.mock.calls).toEqual([[session, 'client:1']]);
    first.drop();
    ensemble.server(2).connect().attach(7, { session });
    expect(created).toHaveBeenCalledTimes(1);
    created.mockRestore();
  });

  it('lets requests through under the session and its generation', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    const { session } = client.attach();
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'reply', number: 1, reply: { type: 'acquire' } }]);
    const entry = ensemble.log.at(-1);
    expect(decodeEntryHeader(entry?.data ?? new Uint8Array())).toMatchObject({ session, generation: 1, number: 1 });
  });

  it('tells what went on meanwhile', () => {
    const ensemble = trio();
    const first = ensemble.server(1).connect();
    first.attach();
    first.acquire(1, 'a');
    first.take();
    first.drop();
    const reply = ensemble.server(2).connect().attach();
    expect(reply).toMatchObject({ generation: 2, lastApplied: 1, acquires: [{ lock: 'a' }] });
  });

  it('puts the hash of its secret into the log and into snapshots, and the secret nowhere', () => {
    const ensemble = trio();
    const secret = Buffer.alloc(16, 0xa7);
    for (const id of [1, 2]) ensemble.server(id).connect().attach(0xa7, { id });
    const snapshot: Uint8Array[] = [];
    const taking = ensemble.server(1).machine.beginSnapshot();
    for (let piece = taking.next(4_096); piece !== undefined; piece = taking.next(4_096)) snapshot.push(piece);
    const kept = [...ensemble.log.map(({ data }) => data), ...ensemble.payloads.map(({ payload }) => payload)];
    const all = Buffer.concat([...kept, ...snapshot]);
    expect(all.includes(secret)).toBe(false);
    expect(all.includes(createHash('sha256').update(secret).digest())).toBe(true);
    expect(Buffer.concat(snapshot).includes(createHash('sha256').update(secret).digest())).toBe(true);
  });

  it('that is malformed is refused without an entry', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    const before = ensemble.log.length;
    client.send({ type: 'attach', id: 4, payload: new Uint8Array([1, 2, 3]) });
    expect(client.take()).toMatchObject([
      { type: 'attached', id: 4, reply: { type: 'error', code: 'INVALID_ARGUMENT' } },
    ]);
    expect(ensemble.log).toHaveLength(before);
  });

  it('of another session closes the connection', () => {
    const client = trio().server(1).connect();
    client.attach(1);
    client.sendAttach(2);
    expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'INVALID_ARGUMENT' }]);
  });

  it('of a session that is over is answered SESSION_EXPIRED', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    const { session } = client.attach();
    client.request(1, { type: 'closeSession', session: 0 });
    client.take();
    client.sendAttach(1, { session });
    expect(client.take()).toMatchObject([{ type: 'attached', reply: { type: 'error', code: 'SESSION_EXPIRED' } }]);
  });
});

describe('a session that is attached again', () => {
  it.each([1, 3])('leaves its connection at server 1 for one at server %i', (to) => {
    const ensemble = trio(2);
    const old = ensemble.server(1).connect();
    old.attach();
    const fresh = ensemble.server(to).connect();
    expect(fresh.attach()).toMatchObject({ generation: 2 });
    expect(old.take()).toMatchObject([{ type: 'goodbye', code: 'SESSION_MOVED' }]);
    expect(old.open).toBe(false);
    fresh.acquire(1, 'a');
    expect(fresh.take()).toMatchObject([{ type: 'reply', number: 1 }]);
  });

  it('is served by the same connection when that asked twice', () => {
    const client = trio().server(2).connect();
    client.attach();
    expect(client.attach(1, { id: 2 })).toMatchObject({ generation: 2 });
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'reply', number: 1 }]);
  });
});

describe('an attach without a leader', () => {
  it('waits for one', () => {
    const ensemble = trio(0);
    const client = ensemble.server(2).connect();
    client.sendAttach();
    expect(client.take()).toEqual([]);
    ensemble.elect(3);
    ensemble.clock.advance(ATTACH_RETRY_MS);
    expect(client.take()).toMatchObject([{ type: 'leader' }, { type: 'attached', reply: { type: 'attached' } }]);
  });

  it('is forgotten with its connection', () => {
    const ensemble = trio(0);
    const client = ensemble.server(2).connect();
    client.sendAttach();
    client.drop();
    ensemble.elect(3);
    ensemble.clock.advance(1_000);
    expect(ensemble.log).toHaveLength(1);
  });
});

describe('an attach that was lost', () => {
  it('with its leader is proposed again by the server', () => {
    const ensemble = trio(1);
    ensemble.holdCommits = true;
    const client = ensemble.server(2).connect();
    client.sendAttach();
    client.take();
    ensemble.depose();
    ensemble.holdCommits = false;
    ensemble.elect(3);
    ensemble.clock.advance(ATTACH_RETRY_MS);
    expect(client.take().at(-1)).toMatchObject({ type: 'attached', reply: { generation: 1 } });
  });

  it('is proposed again after a refusal of the leader', () => {
    const ensemble = trio(1);
    ensemble.rejectWith = 'overloaded';
    const clients = [1, 2].map((id) => ensemble.server(id).connect());
    clients.forEach((client, n) => client.sendAttach(n + 1));
    for (const client of clients) expect(client.take()).toEqual([]);
    ensemble.rejectWith = undefined;
    ensemble.clock.advance(2 * ATTACH_RETRY_MS);
    for (const client of clients) expect(client.take()).toMatchObject([{ type: 'attached', reply: { generation: 1 } }]);
  });

  it('is waited for by one timer, however often it is refused, and by none when nobody waits', () => {
    const ensemble = trio(1);
    const setTimer = vi.spyOn(ensemble.clock, 'setTimer');
    const retries = (): number => setTimer.mock.calls.filter(([delayMs]) => delayMs === ATTACH_RETRY_MS).length;
    ensemble.rejectWith = 'overloaded';
    const clients = [1, 2, 3].map((id) => ensemble.server(id === 3 ? 2 : id).connect());
    for (const [n, client] of clients.entries()) client.sendAttach(n + 1);
    for (const client of clients) client.take();
    // One at server 1 with one client, and one at server 2 with two.
    expect(retries()).toBe(2);
    ensemble.rejectWith = undefined;
    ensemble.clock.advance(2 * ATTACH_RETRY_MS);
    for (const client of clients) expect(client.take()).toMatchObject([{ type: 'attached' }]);
    for (const client of clients) client.drop();
    setTimer.mockClear();
    ensemble.depose();
    ensemble.elect(3);
    ensemble.clock.advance(5 * ATTACH_RETRY_MS);
    expect(retries()).toBe(0);
  });

  it('and was not lost after all raises the generation once more, and requests count under the newer one', () => {
    const ensemble = trio(1);
    const client = ensemble.server(2).connect();
    client.attach();
    const copy = ensemble.log.find((entry) => entry.data[1] === CommandType.attach);
    // In one turn: the request is on its way while the copy is applied.
    ensemble.append(1, copy?.data ?? new Uint8Array());
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'resend', from: 1 }]);
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'reply', number: 1, reply: { type: 'acquire' } }]);
  });
});
