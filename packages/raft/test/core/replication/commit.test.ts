import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONG_ENTRY_BYTES, serverId, type Message } from '../../../src/core/index.ts';
import { quorumSize, quorumValue } from '../../../src/core/quorum/quorum.ts';
import {
  ScriptedCore,
  append,
  heartbeat,
  heartbeatResponse,
  ofType,
  refused,
  sent,
  vote,
} from '../support/scripted-core.ts';

/**
 * Figure 8 of the Raft paper. Index 1 is common. S1 led term 2 and brought index 2 to S2; S5 led term 3 with another entry there; S1
 * leads again and has brought its old index 2 to S3: a majority holds it.
 */
function figure8(): { s1: ScriptedCore; s3: ScriptedCore; s5: ScriptedCore; toS3: Message | undefined } {
  // Small appends, so that the old entry and the no-op of the new term travel by themselves.
  const s1 = new ScriptedCore({ servers: 5, log: [1], term: 1, config: { maxAppendBytes: 1 } });
  s1.lead();
  expect(s1.status).toMatchObject({ term: 2, lastIndex: 2 });
  s1.durable();
  s1.receive(5, heartbeatResponse(3, 0));
  s1.durable();
  s1.lead();
  expect(s1.status).toMatchObject({ term: 4, lastIndex: 3, commitIndex: 0 });
  s1.durable();
  const s3 = new ScriptedCore({ id: 3, servers: 5, log: [1], term: 4 });
  const s5 = new ScriptedCore({ id: 5, servers: 5, log: [1, 3], term: 4 });
  s1.acknowledge(2, 2);
  const [toS3] = sent(s1.receive(3, refused(4, 2, 1, 1)), 'append');
  return { s1, s3, s5, toS3 };
}

describe('figure 8: an entry of an older term on a majority', () => {
  it('is not committed by counting, and may still be replaced [commit-old-term-entry]', () => {
    const { s1, s3, s5, toS3 } = figure8();
    expect(toS3).toMatchObject({ prevIndex: 1, entries: [{ index: 2, term: 2 }], commit: 0 });
    s3.receive(1, append(4, [1, 1], [2]));
    s1.acknowledge(3, 2);
    // On S1, S2 and S3, and still not committed.
    expect(s1.status.commitIndex).toBe(0);
    const asks = s5.stand();
    expect(sent(asks, 'vote')[0]).toMatchObject({ term: 5, lastIndex: 2, lastTerm: 3 });
    expect(sent(s3.receive(5, vote(5, [2, 3], true)), 'vote-response')).toMatchObject([{ granted: true }]);
    const [write] = ofType(s3.receive(5, append(5, [1, 1], [3])), 'persist');
    expect(write).toMatchObject({ truncateFrom: 2, entries: [{ index: 2, term: 3 }] });
  });

  it('is committed with the first entry of the own term that reaches a majority, and can then not be replaced', () => {
    const { s1, s3 } = figure8();
    s3.receive(1, append(4, [1, 1], [2]));
    s1.acknowledge(3, 2);
    s3.receive(1, append(4, [2, 2], [4]));
    s1.acknowledge(3, 3);
    expect(s1.status.commitIndex).toBe(0);
    expect(ofType(s1.acknowledge(2, 3), 'apply')).toMatchObject([{ upTo: 3 }]);
    expect(sent(s3.receive(5, vote(5, [2, 3], true)), 'vote-response')).toMatchObject([{ granted: false }]);
  });

  it('would be lost if it were committed by counting: the server that was told so stops', () => {
    const { s3 } = figure8();
    s3.receive(1, append(4, [1, 1], [2], 2));
    expect(s3.status.commitIndex).toBe(2);
    s3.receive(5, vote(5, [2, 3], true));
    expect(() => s3.receive(5, append(5, [1, 1], [3]))).toThrow(/committed-entries-are-never-removed/);
  });
});

describe('a leader', () => {
  it('counts its own disk as one more follower', () => {
    const core = new ScriptedCore({ servers: 5 });
    core.lead();
    core.acknowledge(2, 1);
    core.acknowledge(3, 1);
    expect(core.status.commitIndex).toBe(0);
    core.durable();
    expect(core.status.commitIndex).toBe(1);
  });

  it('commits without its own disk when a majority of the others is durable', () => {
    const core = new ScriptedCore();
    core.lead();
    core.acknowledge(2, 1);
    expect(core.status.commitIndex).toBe(0);
    core.acknowledge(3, 1);
    expect(core.status.commitIndex).toBe(1);
  });

  it('that is the only voter applies nothing before it is durable [single-voter-acks-before-fsync]', () => {
    const core = new ScriptedCore({ servers: 1 });
    core.lead();
    expect(core.status).toMatchObject({ role: 'leader', commitIndex: 0 });
    expect(ofType(core.propose('x'), 'apply')).toEqual([]);
    expect(ofType(core.durable(), 'apply')).toMatchObject([{ upTo: 2 }]);
  });

  it('tells a heartbeat at most what the peer has acknowledged', () => {
    const core = new ScriptedCore();
    core.lead();
    core.durable();
    core.propose('x', 'y');
    core.durable();
    core.acknowledge(2, 3);
    expect(core.status.commitIndex).toBe(3);
    const commits = Object.fromEntries(sent(core.elapse(150), 'heartbeat').map(({ to, commit }) => [to, commit]));
    expect(commits).toEqual({ 2: 3, 3: 0 });
  });

  it('sends news of a commit only to peers that want it, at most what they acknowledged, and once', () => {
    const core = new ScriptedCore({ servers: 5 });
    core.leadInSync();
    core.acknowledge(2, 1, true);
    core.acknowledge(3, 1, true);
    core.propose('x');
    core.durable();
    expect(sent(core.acknowledge(2, 2, true), 'commit')).toEqual([]);
    const news = core.acknowledge(4, 2);
    expect(core.status.commitIndex).toBe(2);
    expect(sent(news, 'commit').map(({ to, commit }) => [to, commit])).toEqual([[2, 2]]);
    expect(news.at(-1)).toMatchObject({ type: 'send', message: { type: 'commit' } });
    expect(sent(core.acknowledge(5, 2), 'commit')).toEqual([]);
    expect(sent(core.acknowledge(3, 2, true), 'commit').map(({ to, commit }) => [to, commit])).toEqual([[3, 2]]);
  });

  it('tells of an entry that takes long to apply those on whom the next commits wait, and once', () => {
    const core = new ScriptedCore();
    core.leadInSync();
    core.propose('x');
    core.durable();
    expect(sent(core.acknowledge(2, 2), 'commit')).toEqual([]);
    core.propose(new Uint8Array(LONG_ENTRY_BYTES));
    core.durable();
    expect(sent(core.acknowledge(2, 3), 'commit')).toMatchObject([{ to: 2, commit: 3 }]);
    expect(sent(core.acknowledge(3, 3), 'commit')).toMatchObject([{ to: 3, commit: 3 }]);
    expect(sent(core.acknowledge(3, 3), 'commit')).toEqual([]);
  });

  it('tells nobody of it on whom no commit waits: that server hears with what it is sent next', () => {
    const core = new ScriptedCore({ config: { deferredFollowerDelayMs: 10 } });
    core.leadInSync();
    core.propose(new Uint8Array(LONG_ENTRY_BYTES));
    core.durable();
    const news = [2, 3].flatMap((peer) => sent(core.acknowledge(peer, 2), 'commit'));
    expect(news).toHaveLength(1);
  });

  it('tells a commit again with every heartbeat: the news of it may be lost [lost-empty-append-leaves-commit-behind]', () => {
    const core = new ScriptedCore();
    core.leadInSync();
    const follower = new ScriptedCore({ id: 2, log: [1, 1] });
    core.acknowledge(2, 1, true);
    core.propose('x');
    core.durable();
    expect(sent(core.acknowledge(2, 2, true), 'commit')).toMatchObject([{ to: 2, commit: 2 }]);
    // Lost. Nothing more is proposed, so that no append will ever tell it.
    const [beat] = sent(core.elapse(150), 'heartbeat').filter(({ to }) => to === 2);
    expect(beat).toMatchObject({ commit: 2 });
    expect(ofType(follower.receive(1, heartbeat(1, beat?.commit)), 'apply')).toMatchObject([{ upTo: 2 }]);
  });

  it('tells the news of a commit again on a new connection: on the one before it may have been lost', () => {
    const core = new ScriptedCore();
    core.leadInSync();
    core.acknowledge(2, 1, true);
    core.propose('x');
    core.durable();
    expect(sent(core.acknowledge(2, 2, true), 'commit')).toMatchObject([{ to: 2, commit: 2 }]);
    expect(sent(core.acknowledge(2, 2, true), 'commit')).toEqual([]);
    core.step({ type: 'peer-disconnected', peer: serverId(2) });
    const connected = core.step({ type: 'peer-connected', peer: serverId(2) });
    expect(sent(connected, 'commit')).toMatchObject([{ to: 2, commit: 2 }]);
  });

  it('sends no news of a commit that an append of the same group tells', () => {
    const core = new ScriptedCore();
    core.leadInSync();
    core.acknowledge(2, 1, true);
    core.propose('x');
    core.durable();
    const effects = core.step(
      { type: 'message', from: serverId(2), message: { ...ack(core, 2), eagerCommit: true } },
      { type: 'propose', commands: [new Uint8Array(1)] },
    );
    expect(sent(effects, 'append').filter(({ to }) => to === 2)).toMatchObject([{ commit: 2 }]);
    expect(sent(effects, 'commit')).toEqual([]);
  });
});

function ack(core: ScriptedCore, index: number): Extract<Message, { type: 'append-response' }> {
  const [message] = sent(
    new ScriptedCore({ id: 2, log: Array.from({ length: index }, () => 1) }).receive(
      1,
      append(core.status.term, [index, 1]),
    ),
    'append-response',
  );
  if (message === undefined) throw new Error('no acknowledgement');
  const { to: _to, after: _after, ...response } = message;
  return response;
}

describe('a follower', () => {
  it('commits at most what it has, whatever a heartbeat says [heartbeat-commit-beyond-last-index]', () => {
    const core = new ScriptedCore({ log: [1, 1] });
    expect(ofType(core.receive(2, heartbeat(2, 99)), 'apply')).toMatchObject([{ upTo: 2 }]);
    expect(core.status.commitIndex).toBe(2);
  });

  it('never takes a commit back', () => {
    const core = new ScriptedCore({ log: [1, 1] });
    core.receive(2, heartbeat(2, 2));
    const late = core.receive(2, heartbeat(2, 1), append(2, [1, 1], [], 1));
    expect(core.status.commitIndex).toBe(2);
    expect(ofType(late, 'apply')).toEqual([]);
  });

  it('ignores the commits of a deposed leader', () => {
    const core = new ScriptedCore({ log: [1, 1], term: 3 });
    core.receive(2, heartbeat(2, 2), { ...heartbeat(2, 2), type: 'commit' } as Message);
    expect(core.status.commitIndex).toBe(0);
  });

  it('commits nothing by itself after a restart [restart-commit-beyond-log]', () => {
    expect(new ScriptedCore({ log: [1, 1, 1] }).status.commitIndex).toBe(0);
  });
});

describe('proposals that are not committed', () => {
  const kilobyte = () => new Uint8Array(1_000);

  it('are bounded: what comes beyond is refused, in order, and taken again after a commit', () => {
    // A log from before the restart, whose entries commit with the first of this leadership.
    const core = new ScriptedCore({ log: [1, 1, 1], config: { maxUncommittedBytes: 10_000 } });
    core.lead();
    core.durable();
    const fill = () => {
      const rejected = ofType(core.propose(...Array.from({ length: 12 }, kilobyte)), 'proposals-rejected');
      core.durable();
      return rejected.map(({ reason, commands }) => [reason, commands.length]);
    };
    for (let round = 0; round < 5; round += 1) {
      expect(fill()).toEqual([['overloaded', 3]]);
      expect(fill()).toEqual([['overloaded', 12]]);
      core.acknowledge(2, core.status.lastIndex);
      expect(core.status.commitIndex).toBe(core.status.lastIndex);
    }
  });

  it('may be one that is larger than the bound, alone', () => {
    const core = new ScriptedCore({ config: { maxUncommittedBytes: 100 } });
    core.leadInSync();
    expect(ofType(core.propose(kilobyte()), 'proposals-rejected')).toEqual([]);
    expect(ofType(core.propose(kilobyte()), 'proposals-rejected')).toMatchObject([{ reason: 'overloaded' }]);
  });

  it('are refused by a server that does not lead', () => {
    const core = new ScriptedCore();
    expect(ofType(core.propose('x', 'y'), 'proposals-rejected')).toMatchObject([
      { reason: 'not-leader', commands: { length: 2 } },
    ]);
  });
});

describe('the arithmetic of quorums', () => {
  it('finds the largest value that a majority has reached [quorum-index-unsorted]', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 7 }), (values) => {
        const reached = (value: number) => values.filter((other) => other >= value).length * 2 > values.length;
        const expected = Math.max(...Array.from({ length: 21 }, (_, value) => value).filter(reached));
        expect(quorumValue(values, (value) => value)).toBe(expected);
      }),
    );
  });

  it('makes any two quorums overlap, and no smaller set a quorum', () => {
    for (let voters = 1; voters <= 9; voters += 1) {
      expect(2 * quorumSize(voters)).toBeGreaterThan(voters);
      expect(2 * (quorumSize(voters) - 1)).toBeLessThanOrEqual(voters);
    }
  });
});
