import { describe, expect, it } from 'vitest';
import { term } from '../../../src/core/index.ts';
import { ScriptedCore, append, heartbeat, preVote, sent, vote } from '../support/scripted-core.ts';

/** Was in term 4 at least, and is left with two entries of term 2. */
function banned(): ScriptedCore {
  return new ScriptedCore({ log: [2, 2], voteBan: 5 });
}

const better = [9, 9] as const;

describe('a server whose log has lost what it had acknowledged', () => {
  it('takes a term in which it never voted before it says anything', () => {
    const core = banned();
    expect(core.status).toMatchObject({ term: 5, votedFor: 0, voteBanned: true });
    const [answer] = sent(core.receive(2, heartbeat(4)), 'heartbeat-response');
    expect(answer).toMatchObject({ term: 5, to: 2 });
    expect(answer?.after).toBeDefined();
  });

  it('follows no leader of an earlier term, which may count what was lost [late-ack-after-log-reversion-false-quorum]', () => {
    const core = banned();
    core.durable();
    expect(sent(core.receive(2, append(4, [2, 2], [4])), 'append-response')).toMatchObject([
      { accepted: false, term: 5 },
    ]);
    expect(core.status.lastIndex).toBe(2);
  });

  it('does not stand, however long it hears of no leader, nor when it is asked to', () => {
    const core = banned();
    expect(sent(core.elapse(60_000), 'pre-vote')).toEqual([]);
    core.receive(2, heartbeat(5));
    expect(sent(core.receive(2, { type: 'timeout-now', term: term(5) }), 'vote')).toEqual([]);
    expect(core.status.role).toBe('follower');
  });

  it('votes for nobody, however good the log [node-with-truncated-committed-log-votes]', () => {
    const core = banned();
    core.durable();
    expect(sent(core.receive(3, preVote(6, better)), 'pre-vote-response')).toMatchObject([{ granted: false }]);
    expect(sent(core.receive(3, vote(6, better)), 'vote-response')).toMatchObject([{ granted: false, term: 6 }]);
  });

  it('acknowledges what a leader sends it again', () => {
    const core = banned();
    core.durable();
    core.receive(2, append(6, [2, 2], [2, 4, 6]));
    expect(core.status.lastIndex).toBe(5);
    expect(core.status.voteBanned).toBe(true);
  });

  it('is banned on while what it hears to be committed is of the terms before', () => {
    const core = banned();
    core.receive(2, append(6, [2, 2], [2, 4, 6], 4));
    core.durable();
    expect(core.status).toMatchObject({ commitIndex: 4, voteBanned: true });
  });

  it('votes again once an entry of a leader that it had no part in electing is committed, and durable here', () => {
    const core = banned();
    core.receive(2, append(6, [2, 2], [2, 4, 6], 5));
    expect(core.status.voteBanned).toBe(true);
    expect(core.durable()).toContainEqual({ type: 'lift-vote-ban' });
    expect(core.status.voteBanned).toBe(false);
    core.elapse(10_000);
    expect(sent(core.receive(3, vote(9, better)), 'vote-response')).toMatchObject([{ granted: true, term: 9 }]);
  });

  it('keeps its ban over a restart, in whatever term it is by then', () => {
    const core = new ScriptedCore({ log: [2, 2, 7], term: 8, voteBan: 5 });
    expect(core.status).toMatchObject({ term: 8, voteBanned: true });
    expect(sent(core.elapse(60_000), 'pre-vote')).toEqual([]);
    core.receive(2, heartbeat(8, 3));
    expect(core.status.voteBanned).toBe(false);
  });
});
