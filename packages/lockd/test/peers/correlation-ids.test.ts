/** What a peer answers to an earlier process of a server; case 55 of the known faults, `readindex-retry-same-context`, one floor up. */

import { CreateMode } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { CorrelationIds } from '../../src/peers/correlation-ids.ts';
import { decodePeerMessages, type PeerMessage } from '../../src/peers/peer-message.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

const NODE = { type: 'get', path: '/node' } as const;

function trio(): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  ensemble.elect(1);
  return ensemble;
}

function create(client: TestClient, number: number, path = '/node'): void {
  client.request(number, { type: 'create', path, data: new Uint8Array([7]), mode: CreateMode.persistent });
}

describe('an answer to what a server asked before it was restarted', () => {
  it('confirms no read of the process after', () => {
    const ensemble = trio();
    const [leader, follower] = [ensemble.server(1), ensemble.server(2)];
    const writer = leader.connect();
    writer.attach(99);
    ensemble.holdReads = true;
    follower.connect().read(1, NODE);
    ensemble.clock.runChecks();
    follower.restart();
    follower.lagging = true;
    create(writer, 1);
    expect(writer.take()).toMatchObject([{ type: 'reply', reply: { type: 'created' } }]);
    const reader = follower.connect();
    reader.read(1, NODE);
    ensemble.clock.runChecks();
    expect(leader.pendingReads).toBe(2);
    ensemble.holdReads = false;
    leader.schedule();
    // The node was there before it was asked for; the index of the first process's read is from before that.
    expect(reader.take()).toEqual([]);
    follower.lagging = false;
    follower.schedule();
    expect(reader.take()).toMatchObject([{ type: 'answer', answer: { type: 'get' } }]);
  });

  it('acknowledges no heartbeat of which the leader has not heard', () => {
    const ensemble = trio();
    const [leader, follower] = [ensemble.server(1), ensemble.server(2)];
    const before = follower.connect();
    before.attach(1);
    ensemble.holdReads = true;
    before.heartbeat(1);
    ensemble.clock.runChecks();
    follower.restart();
    const after = follower.connect();
    after.attach(2);
    ensemble.delay(2, 1);
    after.heartbeat(5);
    ensemble.clock.runChecks();
    ensemble.holdReads = false;
    leader.schedule();
    expect(after.take()).toEqual([]);
    ensemble.release(2, 1);
    expect(after.take()).toEqual([{ type: 'renewed', id: 5 }]);
  });

  it('ends no transfer that was asked for after', () => {
    const ensemble = trio();
    const [leader, follower] = [ensemble.server(1), ensemble.server(2)];
    const transfer = { type: 'admin', id: 7, operation: { type: 'transfer', server: 3 } } as const;
    follower.connect().send(transfer);
    ensemble.clock.runChecks();
    const first = leader.asked;
    follower.restart();
    const operator = follower.connect();
    operator.send(transfer);
    ensemble.clock.runChecks();
    expect(leader.asked).not.toBe(first);
    first?.ended({ outcome: 'timed-out', target: ensemble.server(3).id });
    expect(operator.take()).toEqual([]);
  });

  it('refuses no request that was forwarded after', () => {
    const ensemble = trio();
    const [leader, follower] = [ensemble.server(1), ensemble.server(2)];
    const before = follower.connect();
    before.attach(1);
    ensemble.holdCommits = true;
    create(before, 1);
    ensemble.clock.runChecks();
    ensemble.delay(1, 2);
    ensemble.rejectWith = 'overloaded';
    ensemble.holdCommits = false;
    leader.schedule();
    ensemble.clock.runChecks();
    ensemble.rejectWith = undefined;
    follower.restart();
    const after = follower.connect();
    after.attach(2);
    ensemble.holdCommits = true;
    create(after, 1, '/other');
    after.take();
    ensemble.release(1, 2);
    const refusals = ensemble.payloads.flatMap(({ from, payload }) => (from === 1 ? decodePeerMessages(payload) : []));
    expect(refusals).toMatchObject([{ type: 'forward-refused', code: 'OVERLOADED' }]);
    expect(after.take()).toEqual([]);
    ensemble.holdCommits = false;
    leader.schedule();
    expect(after.take()).toMatchObject([{ type: 'reply', number: 1, reply: { type: 'created' } }]);
  });
});

describe('the number by which an answer is recognized', () => {
  it('is never used again by the process after, in any kind of message', () => {
    const ensemble = trio();
    const follower = ensemble.server(2);
    const numbersOf = (): number[] => {
      ensemble.payloads.length = 0;
      const client = follower.connect();
      client.attach(1);
      client.heartbeat(1);
      client.read(1, NODE);
      client.send({ type: 'admin', id: 1, operation: { type: 'members', local: false } });
      client.send({ type: 'admin', id: 2, operation: { type: 'transfer', server: 3 } });
      ensemble.clock.runChecks();
      const asked = ensemble.payloads.filter(({ from }) => from === 2);
      return asked.flatMap(({ payload }) => decodePeerMessages(payload)).flatMap(numberOf);
    };
    const before = numbersOf();
    expect(before).toHaveLength(5);
    follower.restart();
    expect(numbersOf().filter((number) => before.includes(number))).toEqual([]);
  });

  it('is at least 1, grows, and begins where chance has it', () => {
    const bounds: number[] = [];
    const beginning = (first: number) => {
      const integer = (bound: number): number => {
        bounds.push(bound);
        return first;
      };
      return new CorrelationIds({ next: () => 0, integer, bytes: (length) => new Uint8Array(length) });
    };
    const ids = beginning(0);
    expect([ids.next(), ids.next(), ids.next()]).toEqual([1, 2, 3]);
    expect(beginning(77).next()).toBe(78);
    expect(bounds.every((bound) => bound >= 2 ** 32)).toBe(true);
  });
});

function numberOf(message: PeerMessage): number[] {
  if ('epoch' in message) return [message.epoch];
  if ('batch' in message) return [message.batch];
  return 'request' in message ? [message.request] : [];
}
