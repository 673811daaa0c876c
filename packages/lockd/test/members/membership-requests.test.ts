import type { AdminAnswer, AdminOperation, MembershipChange } from '@holdfast/protocol';
import { NO_FEATURES } from '@holdfast/protocol';
import { logIndex, type MembershipOutcome, type MembershipRefusal } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { MAX_UNANSWERED_ADMIN_REQUESTS, MEMBERS_ANSWER_MS, ADMIN_RETRY_MS, ADMIN_WAIT_MS } from '../../src/limits.ts';
import { decodePeerMessages, encodePeerMessages } from '../../src/peers/peer-message.ts';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

const ADD: MembershipChange = { type: 'add', server: 4, peerAddress: 'peer-4:1', observer: false, joinSecret: 's' };
const CHANGED: MembershipOutcome = { type: 'changed', index: logIndex(9) };

function trio(leader = 1): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble(3);
  if (leader !== 0) ensemble.elect(leader);
  return ensemble;
}

function ask(ensemble: LoopbackEnsemble, client: TestClient, operation: AdminOperation, id = 1): void {
  client.send({ type: 'admin', id, operation });
  ensemble.clock.runChecks();
}

function request(ensemble: LoopbackEnsemble, client: TestClient, change: MembershipChange = ADD): void {
  ask(ensemble, client, { type: 'change-membership', change });
}

function end(ensemble: LoopbackEnsemble, leader: number, outcome: MembershipOutcome | 'stopped'): void {
  ensemble.server(leader).changes.shift()?.ended(outcome);
  ensemble.clock.runChecks();
}

function refuse(ensemble: LoopbackEnsemble, reason: MembershipRefusal): void {
  end(ensemble, 1, { type: 'refused', reason });
}

function answers(ensemble: LoopbackEnsemble, client: TestClient): object[] {
  ensemble.clock.runChecks();
  return client.take().filter(({ type }) => type === 'admin-answer');
}

const MEMBERS = [1, 2, 3].map((server) => ({
  server,
  role: 'voter',
  peerAddress: `peer-${server}:1`,
  clientAddress: `client-${server}:1`,
  connected: true,
}));

describe('a request about the members', () => {
  it.each([1, 2])('at server %i is told who they are, as the leader knows them', (id) => {
    const ensemble = trio();
    const client = ensemble.server(id).connect();
    ask(ensemble, client, { type: 'members', local: false }, 5);
    expect(answers(ensemble, client)).toEqual([
      { type: 'admin-answer', id: 5, answer: { type: 'members', leader: 1, members: MEMBERS, index: 1 } },
    ]);
  });

  it.each([1, 2])('at server %i is done by the leader, and answered when it is done', (id) => {
    const ensemble = trio();
    const client = ensemble.server(id).connect();
    request(ensemble, client);
    expect(ensemble.server(1).changes.map(({ change }) => change)).toEqual([
      { type: 'add', id: 4, peerAddress: 'peer-4:1', observer: false, joinSecret: 's' },
    ]);
    expect(answers(ensemble, client)).toEqual([]);
    end(ensemble, 1, CHANGED);
    expect(answers(ensemble, client)).toMatchObject([{ id: 1, answer: { type: 'members', leader: 1 } }]);
  });

  it.each([
    ['quorum-at-risk', 'MEMBERSHIP_REFUSED', 'too few of the voters'],
    ['not-caught-up', 'MEMBERSHIP_REFUSED', 'lags too far behind'],
    ['id-used', 'MEMBER_EXISTS', 'numbers are used once'],
    ['address-used', 'MEMBER_EXISTS', 'that peer address'],
    ['not-a-member', 'NOT_FOUND', 'no member'],
    ['last-voter', 'INVALID_ARGUMENT', 'the only one that votes'],
    ['too-many-members', 'LIMIT_EXCEEDED', 'as many members'],
    ['too-many-retired-ids', 'LIMIT_EXCEEDED', 'removed servers'],
  ] as const)('that the core refuses as %s is answered so, at a follower as well', (reason, code, text) => {
    for (const id of [1, 2]) {
      const ensemble = trio();
      const client = ensemble.server(id).connect();
      request(ensemble, client);
      refuse(ensemble, reason);
      expect(answers(ensemble, client)).toMatchObject([
        { answer: { type: 'error', code, message: expect.stringContaining(text) } },
      ]);
    }
  });

  it.each([
    ['a server that is there under that address', 'id-used', { ...ADD, server: 3, peerAddress: 'peer-3:1' }],
    ['a voter that is to be promoted', 'already-a-voter', { type: 'promote', server: 3 }],
    ['a server that was removed', 'already-removed', { type: 'remove', server: 9 }],
  ] as const)('for what has come to be is fulfilled: %s', (_what, reason, change) => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    request(ensemble, client, change);
    refuse(ensemble, reason);
    expect(answers(ensemble, client)).toMatchObject([{ answer: { type: 'members' } }]);
  });

  it.each([
    ['under another address', { ...ADD, server: 3, peerAddress: 'other:1' }],
    ['in another role', { ...ADD, server: 3, peerAddress: 'peer-3:1', observer: true }],
  ] as const)('for a number that is used %s is refused', (_what, change) => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(ensemble, client, change);
    refuse(ensemble, 'id-used');
    expect(answers(ensemble, client)).toMatchObject([{ answer: { type: 'error', code: 'MEMBER_EXISTS' } }]);
  });

  it.each([
    ['number', { ...ADD, server: 0 }],
    ['number', { ...ADD, server: 2 ** 31 }],
    ['peer address', { ...ADD, peerAddress: 'peer-4' }],
    ['join secret', { ...ADD, joinSecret: '' }],
  ] as const)('with no valid %s never reaches the core', (text, change) => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(ensemble, client, change);
    expect(answers(ensemble, client)).toMatchObject([
      { answer: { type: 'error', code: 'INVALID_ARGUMENT', message: expect.stringContaining(text) } },
    ]);
    expect(ensemble.server(1).changes).toEqual([]);
  });
});

describe('an admin request that is blocked for the moment', () => {
  it.each(['change-under-way', 'not-ready', 'transferring', 'unsupported'] as const)(
    'by %s is tried again',
    (reason) => {
      const ensemble = trio();
      const client = ensemble.server(2).connect();
      request(ensemble, client);
      refuse(ensemble, reason);
      expect(answers(ensemble, client)).toEqual([]);
      expect(ensemble.server(1).changes).toEqual([]);
      ensemble.clock.advance(ADMIN_RETRY_MS);
      expect(ensemble.server(1).changes).toHaveLength(1);
      end(ensemble, 1, CHANGED);
      expect(answers(ensemble, client)).toMatchObject([{ answer: { type: 'members' } }]);
    },
  );

  it.each([
    ['change-under-way', 'MEMBERSHIP_REFUSED', 'is not finished'],
    ['unsupported', 'UNSUPPORTED', 'older version'],
  ] as const)('by %s for too long is refused with the reason', (reason, code, text) => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(ensemble, client);
    for (let waitedMs = 0; waitedMs <= ADMIN_WAIT_MS; waitedMs += ADMIN_RETRY_MS) {
      refuse(ensemble, reason);
      ensemble.clock.advance(ADMIN_RETRY_MS);
    }
    expect(answers(ensemble, client)).toMatchObject([{ answer: { code, message: expect.stringContaining(text) } }]);
    ensemble.clock.advance(10 * ADMIN_RETRY_MS);
    expect(ensemble.server(1).changes).toEqual([]);
  });

  it('by the want of a leader waits for one', () => {
    const ensemble = trio(0);
    ensemble.elect(1);
    const client = ensemble.server(2).connect();
    ensemble.depose();
    request(ensemble, client);
    ensemble.elect(3);
    ensemble.clock.advance(ADMIN_RETRY_MS);
    ensemble.clock.runChecks();
    expect(ensemble.server(3).changes).toHaveLength(1);
  });

  it.each([
    [1, 'unknown'],
    [1, 'stopped'],
    [2, 'unknown'],
  ] as const)('at server %i by the fall of its leader (%s) is told to the next', (id, how) => {
    const ensemble = trio();
    const client = ensemble.server(id).connect();
    request(ensemble, client);
    ensemble.depose();
    end(ensemble, 1, how === 'stopped' ? 'stopped' : { type: 'unknown' });
    expect(answers(ensemble, client)).toEqual([]);
    ensemble.elect(3);
    ensemble.clock.advance(ADMIN_RETRY_MS);
    ensemble.clock.runChecks();
    expect(ensemble.server(3).changes).toHaveLength(1);
    end(ensemble, 3, { type: 'refused', reason: 'already-removed' });
    expect(answers(ensemble, client)).toMatchObject([{ answer: { type: 'members', leader: 3 } }]);
  });

  it('by a lost connection to the leader is told to it again', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    request(ensemble, client);
    end(ensemble, 1, CHANGED);
    client.take();
    ensemble.cut(2, 1);
    request(ensemble, client);
    expect(ensemble.server(1).changes).toEqual([]);
    ensemble.heal();
    ensemble.clock.advance(ADMIN_RETRY_MS);
    ensemble.clock.runChecks();
    expect(ensemble.server(1).changes).toHaveLength(1);
    end(ensemble, 1, CHANGED);
    expect(answers(ensemble, client)).toHaveLength(1);
  });
});

describe('an admin request of which an attempt ended, nobody knows how,', () => {
  const MAY_STILL_HAPPEN = {
    type: 'error',
    code: 'LEADER_CHANGED',
    message: expect.stringContaining('may still happen'),
  };

  function refuseUntilAnswered(ensemble: LoopbackEnsemble, leader: number, reason: MembershipRefusal): void {
    for (let waitedMs = 0; waitedMs <= ADMIN_WAIT_MS + ADMIN_RETRY_MS; waitedMs += ADMIN_RETRY_MS) {
      end(ensemble, leader, { type: 'refused', reason });
      ensemble.clock.advance(ADMIN_RETRY_MS);
      ensemble.clock.runChecks();
    }
  }

  describe.each([
    'not-ready',
    'change-under-way',
    'transferring',
    'unsupported',
    'quorum-at-risk',
    'not-caught-up',
    'id-used',
    'address-used',
    'not-a-member',
    'last-voter',
    'too-many-members',
    'too-many-retired-ids',
  ] as const)('and the last as %s', (reason) => {
    it.each([{ type: 'unknown' }, 'stopped'] as const)(
      'is not refused by a leader that asked itself: %j',
      (outcome) => {
        const ensemble = trio();
        const client = ensemble.server(1).connect();
        request(ensemble, client);
        end(ensemble, 1, outcome);
        ensemble.clock.advance(ADMIN_RETRY_MS);
        refuseUntilAnswered(ensemble, 1, reason);
        expect(answers(ensemble, client)).toMatchObject([{ answer: MAY_STILL_HAPPEN }]);
      },
    );

    it('is not refused by a server whose connection to the leader broke', () => {
      const ensemble = trio();
      const client = ensemble.server(2).connect();
      request(ensemble, client);
      ensemble.server(2).losePeer(1);
      ensemble.clock.runChecks();
      ensemble.clock.advance(ADMIN_RETRY_MS);
      ensemble.clock.runChecks();
      expect(ensemble.server(1).changes).toHaveLength(2);
      ensemble.server(1).changes.shift();
      refuseUntilAnswered(ensemble, 1, reason);
      expect(answers(ensemble, client)).toMatchObject([{ answer: MAY_STILL_HAPPEN }]);
    });

    it('is not refused by a server that has asked two leaders', () => {
      const ensemble = trio();
      const client = ensemble.server(2).connect();
      request(ensemble, client);
      ensemble.elect(3);
      refuseUntilAnswered(ensemble, 3, reason);
      expect(answers(ensemble, client)).toMatchObject([{ answer: MAY_STILL_HAPPEN }]);
    });

    it('is not refused by a server whose first leader fell and said so', () => {
      const ensemble = trio();
      const client = ensemble.server(2).connect();
      request(ensemble, client);
      ensemble.depose();
      end(ensemble, 1, { type: 'unknown' });
      ensemble.clock.advance(ADMIN_RETRY_MS);
      ensemble.clock.runChecks();
      ensemble.elect(3);
      ensemble.clock.advance(ADMIN_RETRY_MS);
      ensemble.clock.runChecks();
      refuseUntilAnswered(ensemble, 3, reason);
      expect(answers(ensemble, client)).toMatchObject([{ answer: MAY_STILL_HAPPEN }]);
    });
  });

  it('says why it cannot be done now', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(ensemble, client);
    end(ensemble, 1, { type: 'unknown' });
    ensemble.clock.advance(ADMIN_RETRY_MS);
    refuse(ensemble, 'quorum-at-risk');
    expect(answers(ensemble, client)).toMatchObject([
      { answer: { code: 'LEADER_CHANGED', message: expect.stringContaining('too few of the voters') } },
    ]);
  });

  it('is fulfilled when it has come to be', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(ensemble, client, { ...ADD, server: 3, peerAddress: 'peer-3:1' });
    end(ensemble, 1, { type: 'unknown' });
    ensemble.clock.advance(ADMIN_RETRY_MS);
    refuse(ensemble, 'id-used');
    expect(answers(ensemble, client)).toMatchObject([{ answer: { type: 'members' } }]);
  });

  it('is not refused by the late answer of a leader that was asked before, but fulfilled', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    request(ensemble, client);
    const [asked] = ensemble.payloads.flatMap(({ payload }) => decodePeerMessages(payload));
    ensemble.elect(3);
    ensemble.clock.advance(ADMIN_RETRY_MS);
    ensemble.clock.runChecks();
    expect(ensemble.server(3).changes).toHaveLength(1);
    const refused: AdminAnswer = { type: 'error', code: 'MEMBERSHIP_REFUSED', message: 'too few of the voters' };
    const late = {
      type: 'admin-answer',
      request: asked?.type === 'admin' ? asked.request : 0,
      answer: refused,
    } as const;
    ensemble.server(2).receive(ensemble.server(1).id, encodePeerMessages([late]));
    expect(answers(ensemble, client)).toEqual([]);
    end(ensemble, 3, CHANGED);
    expect(answers(ensemble, client)).toMatchObject([{ answer: { type: 'members', leader: 3 } }]);
  });
});

describe('an admin request whose attempt is under way', () => {
  it('is not refused with what blocked an earlier one when time is up', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(ensemble, client);
    refuse(ensemble, 'change-under-way');
    ensemble.clock.advance(ADMIN_RETRY_MS);
    expect(ensemble.server(1).changes).toHaveLength(1);
    ensemble.clock.advance(MEMBERS_ANSWER_MS);
    expect(answers(ensemble, client)).toMatchObject([{ answer: { code: 'LEADER_CHANGED' } }]);
  });

  it('is asked again when the connection broke while no leader was known, and the same one leads on', () => {
    const ensemble = trio();
    const client = ensemble.server(2).connect();
    request(ensemble, client);
    ensemble.leader = 0;
    ensemble.server(2).schedule();
    ensemble.clock.runChecks();
    ensemble.server(2).losePeer(1);
    ensemble.clock.runChecks();
    ensemble.leader = 1;
    ensemble.server(2).schedule();
    ensemble.clock.advance(ADMIN_RETRY_MS);
    ensemble.clock.runChecks();
    expect(ensemble.server(1).changes).toHaveLength(2);
  });
});

describe('a leader of an older version', () => {
  it('is not asked', () => {
    const ensemble = trio();
    ensemble.server(1).features = NO_FEATURES;
    const client = ensemble.server(2).connect();
    ensemble.payloads.length = 0;
    ask(ensemble, client, { type: 'members', local: false });
    for (let waitedMs = 0; waitedMs < ADMIN_WAIT_MS; waitedMs += ADMIN_RETRY_MS) {
      expect(answers(ensemble, client)).toEqual([]);
      ensemble.clock.advance(ADMIN_RETRY_MS);
    }
    expect(answers(ensemble, client)).toMatchObject([{ answer: { type: 'error', code: 'UNSUPPORTED' } }]);
    expect(ensemble.payloads.filter(({ from }) => from === 2)).toEqual([]);
  });
});

describe('admin requests', () => {
  it('are limited in number, and all are answered in the end', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    for (let n = 0; n <= MAX_UNANSWERED_ADMIN_REQUESTS; n += 1) request(ensemble, client);
    expect(answers(ensemble, client)).toMatchObject([{ answer: { code: 'OVERLOADED' } }]);
    ensemble.clock.advance(MEMBERS_ANSWER_MS);
    const late = answers(ensemble, client);
    expect(late).toHaveLength(MAX_UNANSWERED_ADMIN_REQUESTS);
    expect(late[0]).toMatchObject({ answer: { code: 'LEADER_CHANGED' } });
  });

  it('are answered when the server stops', () => {
    const ensemble = trio();
    const client = ensemble.server(1).connect();
    request(ensemble, client);
    ensemble.server(1).machine.disconnectClients();
    end(ensemble, 1, CHANGED);
    expect(ensemble.server(1).failures).toEqual([]);
  });
});
