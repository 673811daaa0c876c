import { describe, expect, it } from 'vitest';
import { term } from '../../../src/core/index.ts';
import {
  ScriptedCore,
  accepted,
  append,
  entry,
  heartbeat,
  heartbeatResponse,
  ofType,
  preVote,
  refused,
  sent,
  vote,
} from '../support/scripted-core.ts';

describe('a vote', () => {
  it('is durable before the candidate is told', () => {
    const core = new ScriptedCore();
    const effects = core.receive(2, vote(1, [0, 0]));
    const [write] = ofType(effects, 'persist');
    expect(write?.hardState).toEqual({ term: 1, votedFor: 2 });
    expect(sent(effects, 'vote-response')).toMatchObject([{ to: 2, granted: true, after: write?.seq }]);
  });

  it('goes to one candidate a term, and to the same one again', () => {
    const core = new ScriptedCore();
    core.receive(2, vote(1, [0, 0]));
    expect(sent(core.receive(3, vote(1, [9, 1])), 'vote-response')).toMatchObject([{ granted: false }]);
    expect(sent(core.receive(2, vote(1, [0, 0])), 'vote-response')).toMatchObject([{ granted: true }]);
  });

  it('is remembered over a restart', () => {
    const core = new ScriptedCore({ term: 5, votedFor: 2 });
    expect(sent(core.receive(3, vote(5, [9, 5])), 'vote-response')).toMatchObject([{ term: 5, granted: false }]);
    expect(sent(core.receive(2, vote(5, [0, 0])), 'vote-response')).toMatchObject([{ term: 5, granted: true }]);
  });

  it.each([
    { lastIndex: 9, lastTerm: 1, granted: false, why: 'a longer log of an older term' },
    { lastIndex: 2, lastTerm: 2, granted: false, why: 'a shorter log of the same term' },
    { lastIndex: 3, lastTerm: 2, granted: true, why: 'an equal log' },
    { lastIndex: 1, lastTerm: 3, granted: true, why: 'a shorter log of a newer term' },
  ])(
    'compares the last terms first, then the lengths, promised or given: $why [log-id-compared-component-wise]',
    ({ lastIndex, lastTerm, granted }) => {
      const core = new ScriptedCore({ log: [1, 1, 2] });
      const promise = core.receive(2, preVote(4, [lastIndex, lastTerm]));
      expect(sent(promise, 'pre-vote-response')).toMatchObject([{ granted }]);
      expect(sent(core.receive(2, vote(4, [lastIndex, lastTerm])), 'vote-response')).toMatchObject([{ granted }]);
    },
  );

  it('is not given against a leader that is heard, unless that leader transfers leadership', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    expect(sent(core.receive(3, vote(7, [9, 6])), 'vote-response')).toMatchObject([{ term: 1, granted: false }]);
    expect(core.status).toMatchObject({ term: 1, leader: 2 });
    expect(sent(core.receive(3, vote(7, [9, 6], true)), 'vote-response')).toMatchObject([{ term: 7, granted: true }]);
  });

  it('is given by a server that only asks for pre-votes itself', () => {
    const core = new ScriptedCore({ term: 1 });
    core.elapse(5_000, () => core.status.role === 'pre-candidate');
    expect(sent(core.receive(3, vote(1, [0, 0])), 'vote-response')).toMatchObject([{ granted: true }]);
    expect(core.status).toMatchObject({ role: 'follower', votedFor: 3, term: 1 });
  });
});

describe('a candidate', () => {
  it('asks for votes only when its own is durable [candidate-sends-before-own-vote-durable]', () => {
    const core = new ScriptedCore();
    const effects = core.stand();
    const [write] = ofType(effects, 'persist');
    expect(write?.hardState).toEqual({ term: 1, votedFor: 1 });
    expect(sent(effects, 'vote').map(({ after }) => after)).toEqual([write?.seq, write?.seq]);
  });

  it('does not count its own vote before it is durable', () => {
    const core = new ScriptedCore();
    core.stand();
    core.receive(2, { type: 'vote-response', term: core.status.term, granted: true });
    expect(core.status.role).toBe('candidate');
    core.durable();
    expect(core.status.role).toBe('leader');
  });

  it('keeps its vote when it hears the leader of its term, even one whose append it refuses [same-term-stepdown-clears-vote]', () => {
    const core = new ScriptedCore();
    core.stand();
    core.receive(2, append(1, [5, 1]));
    expect(core.status).toMatchObject({ role: 'follower', leader: 2, votedFor: 1 });
    expect(sent(core.receive(3, vote(1, [9, 1])), 'vote-response')).toMatchObject([{ granted: false }]);
  });

  it('does not take the vote that a refusal tells of, nor the votes of an earlier term [higher-vote-in-response-adopted-as-own]', () => {
    const core = new ScriptedCore({ servers: 5 });
    core.stand();
    core.durable();
    const asked = core.status.term;
    core.receive(2, { type: 'vote-response', term: entry(1, asked + 3).term, granted: false });
    expect(core.status).toMatchObject({ role: 'follower', term: asked + 3, votedFor: 0 });
    core.stand();
    core.durable();
    for (const from of [2, 3, 4]) core.receive(from, { type: 'vote-response', term: asked, granted: true });
    expect(core.status.role).toBe('candidate');
  });

  it('counts each server once', () => {
    const core = new ScriptedCore({ servers: 5 });
    core.stand();
    core.durable();
    const granted = { type: 'vote-response', term: core.status.term, granted: true } as const;
    core.receive(2, granted, granted, granted);
    expect(core.status.role).toBe('candidate');
    core.receive(3, granted);
    expect(core.status.role).toBe('leader');
  });

  it('does not raise the term again while its disk is slow', () => {
    const core = new ScriptedCore();
    core.stand();
    core.elapse(30_000);
    expect(core.status).toMatchObject({ role: 'candidate', term: 1 });
    core.receive(2, { type: 'vote-response', term: core.status.term, granted: true });
    core.durable();
    expect(core.status.role).toBe('leader');
  });

  it('begins above the term that was durable, not at 1 [term-not-restored-after-full-restart]', () => {
    const core = new ScriptedCore({ log: [1, 5], term: 7 });
    core.stand();
    expect(core.status.term).toBe(8);
  });
});

describe('an only voter', () => {
  it('leads once its vote is durable, in the term that it began [double-elect-bumps-term]', () => {
    const core = new ScriptedCore({ servers: 1 });
    core.elapse(20_000);
    expect(core.status).toMatchObject({ role: 'candidate', term: 1 });
    core.durable();
    expect(core.status).toMatchObject({ role: 'leader', term: 1 });
  });
});

describe('two leaders in one term', () => {
  it('stop the server that sees it [two-leaders-one-term-must-crash]', () => {
    const core = new ScriptedCore();
    core.lead();
    expect(() => core.receive(2, append(core.status.term, [0, 0]))).toThrow(/one-leader-a-term/);
  });
});

describe('a stranger', () => {
  it('is answered nothing to what it answers, and cannot make a term higher by it', () => {
    const core = new ScriptedCore();
    core.lead();
    const before = core.status;
    const granted = { type: 'vote-response', term: term(60), granted: true } as const;
    expect(core.receive(9, granted, accepted(50, 1), refused(61, 1, 1, 1), heartbeatResponse(70, 1))).toEqual([]);
    expect(core.status).toEqual(before);
  });

  it('cannot depose a leader that is heard', () => {
    const core = new ScriptedCore();
    core.receive(2, heartbeat(1));
    const effects = core.receive(9, vote(60, [9, 9]), preVote(61, [9, 9]));
    expect(sent(effects, 'vote-response')).toMatchObject([{ granted: false }]);
    expect(sent(effects, 'pre-vote-response')).toMatchObject([{ granted: false }]);
    expect(core.status).toMatchObject({ term: 1, leader: 2 });
  });
});
