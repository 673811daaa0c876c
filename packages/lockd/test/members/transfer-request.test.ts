import { NO_FEATURES } from '@holdfast/protocol';
import { serverId, type TransferOutcome } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { ADMIN_RETRY_MS, ADMIN_WAIT_MS, MAX_UNANSWERED_ADMIN_REQUESTS, TRANSFER_ANSWER_MS } from '../../src/limits.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

function trio(leader = 1): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  if (leader !== 0) ensemble.elect(leader);
  return ensemble;
}

function request(client: TestClient, id: number, server: number): void {
  client.send({ type: 'admin', id, operation: { type: 'transfer', server } });
}

function answers(client: TestClient): object[] {
  return client.take().filter(({ type }) => type === 'admin-answer');
}

function end(ensemble: LoopbackEnsemble, outcome: TransferOutcome, target: number): void {
  ensemble.server(1).asked?.ended({ outcome, target: serverId(target) });
}

describe('a request for another leader', () => {
  it.each([1, 2])('at server %i is answered when the server that was named leads', (id) => {
    const ensemble = trio();
    const client = ensemble.server(id).connect();
    request(client, 7, 3);
    expect(answers(client)).toEqual([]);
    expect(ensemble.server(1).asked?.target).toBe(3);
    end(ensemble, 'transferred', 3);
    ensemble.depose();
    expect(answers(client)).toEqual([]);
    ensemble.elect(3);
    expect(answers(client)).toEqual([{ type: 'admin-answer', id: 7, answer: { type: 'transferred', server: 3 } }]);
  });

  it('that names nobody lets the replica choose', () => {
    const ensemble = trio();
    request(ensemble.server(1).connect(), 1, 0);
    ensemble.clock.runChecks();
    expect(ensemble.server(1).asked).toMatchObject({ target: undefined });
  });

  it.each([
    ['target-unreachable', 'TRANSFER_REFUSED', 'cannot be reached'],
    ['target-behind', 'TRANSFER_REFUSED', 'far behind'],
    ['timed-out', 'TRANSFER_REFUSED', 'the leader goes on'],
    ['no-target', 'TRANSFER_REFUSED', 'no other server'],
    ['in-progress', 'TRANSFER_REFUSED', 'under way'],
    ['lost-leadership', 'TRANSFER_REFUSED', 'just changed'],
    ['unknown-target', 'NOT_FOUND', 'no voting member'],
  ] as const)('that ended as %s is told so, at a follower as well', (outcome, code, text) => {
    for (const id of [1, 2]) {
      const ensemble = trio();
      const client = ensemble.server(id).connect();
      request(client, 1, 2);
      ensemble.clock.runChecks();
      end(ensemble, outcome, 2);
      expect(answers(client)).toMatchObject([
        { answer: { type: 'error', code, message: expect.stringContaining(text) } },
      ]);
    }
  });

  it('for the server that leads is fulfilled', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(client, 1, 1);
    ensemble.clock.runChecks();
    end(ensemble, 'already-leader', 1);
    expect(answers(client)).toMatchObject([{ answer: { type: 'transferred', server: 1 } }]);
  });

  it('is refused when somebody else was elected in the end', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(client, 1, 2);
    ensemble.clock.runChecks();
    end(ensemble, 'transferred', 2);
    ensemble.elect(3);
    expect(answers(client)).toMatchObject([
      { answer: { code: 'TRANSFER_REFUSED', message: 'server 3 was elected instead of server 2' } },
    ]);
  });

  it('waits for the hello of a leader that has just joined, and is not forwarded before', () => {
    const ensemble = trio();
    const { features } = ensemble.server(1);
    ensemble.server(1).features = NO_FEATURES;
    const client = ensemble.server(2).connect();
    request(client, 1, 3);
    ensemble.clock.advance(3 * ADMIN_RETRY_MS);
    expect(ensemble.server(1).asked).toBeUndefined();
    ensemble.server(1).features = features;
    ensemble.clock.advance(ADMIN_RETRY_MS);
    ensemble.clock.runChecks();
    expect(ensemble.server(1).asked?.target).toBe(3);
    expect(answers(client)).toEqual([]);
  });

  it('is refused in the end when the leader is of an older version', () => {
    const ensemble = trio();
    ensemble.server(1).features = NO_FEATURES;
    const client = ensemble.server(2).connect();
    request(client, 1, 3);
    ensemble.clock.advance(ADMIN_WAIT_MS + ADMIN_RETRY_MS);
    ensemble.clock.runChecks();
    expect(answers(client)).toMatchObject([{ answer: { code: 'UNSUPPORTED' } }]);
    expect(ensemble.server(1).asked).toBeUndefined();
  });

  it('ends with the connection where no leader is known for long', () => {
    const ensemble = trio(0);
    const client = ensemble.server(1).connect();
    request(client, 1, 2);
    ensemble.clock.advance(ADMIN_WAIT_MS - 1);
    expect(client.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'NO_LEADER' });
  });

  it.each([1, 2])('waits at server %i, which has yet to hear who leads, and is made once', (id) => {
    const ensemble = trio(0);
    const client = ensemble.server(id).connect();
    request(client, 1, 3);
    ensemble.elect(1);
    ensemble.clock.runChecks();
    expect(ensemble.server(1).asked?.target).toBe(3);
    end(ensemble, 'transferred', 3);
    ensemble.elect(3);
    expect(answers(client)).toMatchObject([{ answer: { type: 'transferred', server: 3 } }]);
  });

  it('has an answer in bounded time, and there is a bounded number of them', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    for (let id = 1; id <= MAX_UNANSWERED_ADMIN_REQUESTS + 1; id += 1) request(client, id, 2);
    expect(answers(client)).toMatchObject([{ id: MAX_UNANSWERED_ADMIN_REQUESTS + 1, answer: { code: 'OVERLOADED' } }]);
    ensemble.clock.advance(TRANSFER_ANSWER_MS + 1);
    const late = answers(client);
    expect(late).toHaveLength(MAX_UNANSWERED_ADMIN_REQUESTS);
    expect(late[0]).toMatchObject({ answer: { code: 'LEADER_CHANGED' } });
  });
});
