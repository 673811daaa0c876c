import { CommandType, encodeCommand } from '@holdfast/protocol';
import {
  EntryType,
  encodeConfiguration,
  finalConfiguration,
  initialConfiguration,
  jointPromotion,
  jointRemoval,
  logIndex,
  serverId,
  term,
  withMember,
  type Configuration,
  type Effect,
  type RaftEvent,
} from '@holdfast/raft';
import { encodeEntry, type StateMachine } from '@holdfast/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { entry, from, History, persist, send } from './history.ts';

let history: History;

beforeEach(() => {
  history = new History();
});

describe('the mark of a pre-vote refused by stickiness', () => {
  const asked = (lastIndex: number): RaftEvent =>
    from(3, { type: 'pre-vote', term: 2, lastIndex: logIndex(lastIndex), lastTerm: 1 });
  const refusal = send(3, { type: 'pre-vote-response', term: 1, askedTerm: 2, granted: false });

  it('is hit when a follower that hears a leader refuses whoever has as long a log', () => {
    history.step(1, { leader: 2 }).step(1, {}, [asked(2)], [refusal]);
    expect(history.hits).toEqual({ 'pre-vote-refused-by-stickiness': 1 });
  });

  it('is not hit when the log, a ban, or the want of a leader refuses as well', () => {
    history.step(1, { leader: 2 }).step(1, {}, [asked(1)], [refusal]);
    history.step(1, { leader: 2, voteBanned: true }).step(1, {}, [asked(2)], [refusal]);
    history.step(2, { leader: 0 }).step(2, {}, [asked(2)], [refusal]);
    expect(history.hits).toEqual({});
  });
});

describe('the mark of a fail-over by a refused dial', () => {
  const refused: RaftEvent = { type: 'peer-refused', peer: serverId(2) };

  it('is hit when the server that was refused leads before an election timeout is over', () => {
    history.step(1, { leader: 2 }).step(1, { leader: 0 }, [refused]).after(90);
    history.step(1, { role: 'leader', term: 2, leader: 1, noopIndex: 3 });
    expect(history.hits).toEqual({ 'fail-over-by-refused-dial': 1 });
  });

  it('is not hit when it takes as long as without, or somebody else leads first', () => {
    history.step(1, { leader: 2 }).step(1, { leader: 0 }, [refused]).after(1_000);
    history.step(1, { role: 'leader', term: 2, leader: 1, noopIndex: 3 });
    history.step(3, { leader: 2 }).step(3, { leader: 0 }, [refused]).step(3, { leader: 1, term: 2 });
    history.step(3, { role: 'leader', term: 3, leader: 3, noopIndex: 4 });
    expect(history.hits).toEqual({});
  });
});

describe('the mark of a commit as in figure 8', () => {
  const acknowledged = (index: number): RaftEvent =>
    from(2, { type: 'append-response', term: 2, accepted: true, index: logIndex(index), hintTerm: 0 });
  const leads = { role: 'leader', term: 2, leader: 1, noopIndex: 3, lastIndex: 3 } as const;

  it('is hit when a majority has what an earlier term left, and it is committed behind an entry of the own', () => {
    history.world.committed = 1;
    history.step(1, {}).step(1, { ...leads, commitIndex: 1 });
    history.step(1, {}, [acknowledged(2)]).step(1, { commitIndex: 3 }, [acknowledged(3)]);
    expect(history.hits).toEqual({ 'figure-8-commit': 1 });
  });

  it('is not hit when both are acknowledged at once, or an earlier leader had committed it', () => {
    history.world.committed = 1;
    history
      .step(1, {})
      .step(1, { ...leads, commitIndex: 1 })
      .step(1, { commitIndex: 3 }, [acknowledged(3)]);
    history.world.committed = 2;
    history
      .down(1)
      .step(1, {})
      .step(1, { ...leads, commitIndex: 1 });
    history.step(1, {}, [acknowledged(2)]).step(1, { commitIndex: 3 }, [acknowledged(3)]);
    expect(history.hits).toEqual({});
  });
});

describe('the mark of a full window', () => {
  const append = (index: number): Effect =>
    send(2, { type: 'append', term: 2, prevIndex: index - 1, prevTerm: 2, commit: 0, entries: [entry(index, 2)] });
  const acknowledged = from(2, { type: 'append-response', term: 2, accepted: true, index: logIndex(3), hintTerm: 0 });
  const leads = { role: 'leader', term: 2, leader: 1, noopIndex: 3 } as const;

  it('is hit when as many appends are under way as may be, and there is more to send', () => {
    history.step(1, {}).step(1, { ...leads, lastIndex: 3 }, [], [append(3)]);
    history.step(1, { commitIndex: 3, lastIndex: 6 }, [acknowledged], [append(4), append(5)]);
    expect(history.hits).toEqual({ 'window-full': 1 });
  });

  it('is not hit when that was all, nor by the probe of a follower that has not answered', () => {
    history.step(1, {}).step(1, { ...leads, lastIndex: 6 }, [], [append(3), append(4)]);
    history.step(1, { commitIndex: 3, lastIndex: 5 }, [acknowledged], [append(4), append(5)]);
    expect(history.hits).toEqual({});
  });

  it('is not hit when the connection was lost in between, and with it what was under way', () => {
    history
      .step(1, {})
      .step(1, leads)
      .step(1, { commitIndex: 3, lastIndex: 6 }, [acknowledged], [append(4)]);
    history.step(1, {}, [{ type: 'peer-connected', peer: serverId(2) }], [append(4)]);
    expect(history.hits).toEqual({});
  });
});

describe('the mark of a suffix truncated after a restart', () => {
  it('is hit when what a start found is removed, once', () => {
    history
      .open(1)
      .down(1)
      .open(1, 5)
      .step(1, {}, [], [persist(1, { truncateFrom: logIndex(5) })]);
    history.step(1, {}, [], [persist(2, { truncateFrom: logIndex(5) })]);
    expect(history.hits).toEqual({ 'suffix-truncated-after-restart': 1 });
  });

  it('is not hit by what came after the start, nor in the first life', () => {
    history.open(1, 5).step(1, {}, [], [persist(1, { truncateFrom: logIndex(5) })]);
    history
      .down(1)
      .open(1, 5)
      .step(1, {}, [], [persist(1, { truncateFrom: logIndex(6) })]);
    expect(history.hits).toEqual({});
  });
});

describe('the marks of what servers write into their logs', () => {
  it('are hit by these lines, from any part of any process', () => {
    const { logger } = history.marks;
    logger.child({ host: 's1' }).info({}, 'cut a write that was never acknowledged off the end of the log');
    logger.info({}, 'a snapshot that was being received is superseded');
    expect(history.hits).toEqual({ 'torn-tail-cut': 1, 'snapshot-superseded': 1 });
  });

  it('are not hit by others', () => {
    history.marks.logger.info({}, 'opened the log');
    history.marks.logger.warn({}, 'a peer refuses a snapshot; it is offered again later');
    expect(history.hits).toEqual({});
  });
});

describe('the mark of a vote ban', () => {
  it('is hit at its end', () => {
    history.step(1, { voteBanned: true });
    expect(history.hits).toEqual({});
    history.step(1, { voteBanned: false }, [], [{ type: 'lift-vote-ban' }]);
    expect(history.hits).toEqual({ 'vote-ban-lifted': 1 });
  });
});

describe('the mark of a snapshot that is installed over writes', () => {
  const install = persist(2, { snapshot: { index: logIndex(9), term: term(1) } });

  it('is hit when entries are yet to become durable', () => {
    history.step(1, {}, [], [persist(1, { entries: [entry(3, 1)] })]).step(1, {}, [], [install]);
    expect(history.hits).toEqual({ 'installed-over-writes': 1 });
  });

  it('is not hit when they are durable, or the process is another one', () => {
    const write = persist(1, { entries: [entry(3, 1)] });
    history.step(1, {}, [], [write]).marks.persisted(1, write.seq);
    history.step(1, {}, [], [install]);
    history.step(2, {}, [], [write]).down(2).step(2, {}, [], [install]);
    expect(history.hits).toEqual({});
  });
});

describe('the marks of a leader that leaves', () => {
  const ended = (outcome: 'timed-out' | 'transferred'): Effect => {
    return { type: 'transfer-ended', tickets: [1], outcome, target: serverId(2) };
  };
  const dropped: Effect = { type: 'read-rejected', tickets: [7], reason: 'not-leader' };

  it('are hit by a transfer that nobody takes up, and not by one that somebody does', () => {
    history.step(1, { role: 'leader' }, [], [ended('transferred')]);
    expect(history.hits).toEqual({});
    history.step(1, {}, [], [ended('timed-out')]);
    expect(history.hits).toEqual({ 'transfer-timed-out': 1 });
  });

  it('are hit by a read that waited when it stepped down', () => {
    history.step(1, { role: 'leader', leader: 1 }).step(1, { role: 'follower', leader: 0 }, [], [dropped]);
    expect(history.hits).toEqual({ 'read-dropped-at-step-down': 1 });
  });

  it('are not hit by a read that comes with it or after it', () => {
    const asked: RaftEvent = { type: 'read-index', ticket: 7 };
    history.step(1, { role: 'leader', leader: 1 }).step(1, { role: 'follower', leader: 0 }, [asked], [dropped]);
    history.step(1, {}, [asked], [dropped]);
    expect(history.hits).toEqual({});
  });
});

describe('the marks of changes of the members', () => {
  const three = initialConfiguration([1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `s${id}:1` })));
  const facts = { clientAddress: '', incarnation: 'disk-4', joinSecret: '', outgoing: false };
  const learner = withMember(three, { id: serverId(4), peerAddress: 's4:1', role: 'learner', ...facts });
  const begun = (index: number, configuration: Configuration): readonly Effect[] => [
    persist(index, { entries: [entry(index, 2, EntryType.configuration, encodeConfiguration(configuration))] }),
  ];
  const leads = { role: 'leader', term: 2, leader: 1, noopIndex: 3, commitIndex: 3 } as const;

  function change(joint: Configuration): History {
    history.step(1, leads).step(1, {}, [], begun(4, joint));
    return history.step(1, { commitIndex: 4 }, [], begun(5, finalConfiguration(joint)));
  }

  it('are hit when a leader commits the configuration without it', () => {
    change(jointRemoval(three, serverId(1)));
    expect(history.hits).toEqual({});
    history.step(1, { role: 'follower', commitIndex: 5, leader: 0 });
    expect(history.hits).toEqual({ 'leader-removed-in-joint': 1 });
  });

  it('are not hit when another one is removed, or it leads no longer when it is', () => {
    change(jointRemoval(three, serverId(2))).step(1, { commitIndex: 5 });
    change(jointRemoval(three, serverId(1))).step(1, { role: 'follower', commitIndex: 4 });
    history.step(1, { commitIndex: 5 });
    expect(history.hits).toEqual({});
  });

  it('are hit when a learner gets its vote while servers are apart, and not otherwise', () => {
    change(jointPromotion(learner, serverId(4)));
    expect(history.hits).toEqual({});
    history.world.apart = true;
    change(jointRemoval(three, serverId(3)));
    expect(history.hits).toEqual({});
    change(jointPromotion(learner, serverId(4)));
    expect(history.hits).toEqual({ 'promoted-under-partition': 1 });
  });
});

describe('the mark of an expiry across a change of leader', () => {
  const payload = encodeCommand({ type: 'expireSession', session: 8, generation: 1 });
  const header = { command: CommandType.expireSession, session: 0, generation: 0, number: 0, ackedUpTo: 0 };
  const expiry = entry(4, 2, EntryType.command, encodeEntry(header, payload));
  const lives = { session: () => ({ generation: 1 }) } as unknown as StateMachine;
  const gone = { session: () => undefined } as unknown as StateMachine;

  beforeEach(() => {
    history.step(1, { role: 'leader', term: 2, leader: 1 }, [], [persist(1, { entries: [expiry] })]);
  });

  it('is hit when it is applied after another server has begun to lead', () => {
    history.step(2, { role: 'leader', term: 3, leader: 2 }).marks.applied(expiry, gone);
    expect(history.hits).toEqual({ 'expiry-across-a-change-of-leader': 1 });
  });

  it('is hit when it is lost, and the session goes on', () => {
    history.marks.applied(entry(4, 3), lives);
    expect(history.hits).toEqual({ 'expiry-across-a-change-of-leader': 1 });
  });

  it('is not hit under the leader that proposed it, nor when the session is gone all the same', () => {
    history.marks.applied(expiry, gone);
    history.step(1, {}, [], [persist(2, { entries: [{ ...expiry, index: logIndex(5) }] })]);
    history.marks.applied(entry(5, 3), gone);
    expect(history.hits).toEqual({});
  });
});

describe('the mark of a retransmission backoff', () => {
  it('is hit when the simulated TCP has lost what it sent again', () => {
    expect(history.hits).toEqual({});
    history.world.retransmissionsLost = 2;
    expect(history.hits).toEqual({ 'retransmission-backoff': 2 });
  });
});

describe('the marks of watches', () => {
  it('are hit when clients come back, and when a snapshot comes over their servers', () => {
    history.world.resumes = { watchesFromHistory: 3, watchesBehindHistory: 1, watchersOverSnapshot: 0 };
    expect(history.hits).toEqual({ 'watch-from-history': 3, 'watch-behind-history': 1 });
    history.world.resumes = { ...history.world.resumes, watchersOverSnapshot: 2 };
    expect(history.hits).toMatchObject({ 'watch-over-snapshot': 2 });
  });
});

describe('the mark of a time to live that is over at an election', () => {
  const state = (unused: { readonly ttlMs?: number; readonly children: number }): StateMachine =>
    ({ stamp: 1_500, withLifetime: () => [7], limitedNode: () => ({ mtime: 1_000, ...unused }) }) as never;
  const noop = entry(4, 2, EntryType.noop);

  it('is hit once, when a leader begins with a node that should be gone', () => {
    history.marks.applied(noop, state({ ttlMs: 500, children: 0 }));
    history.marks.applied(noop, state({ ttlMs: 500, children: 0 }));
    expect(history.hits).toEqual({ 'ttl-due-at-an-election': 1 });
  });

  it('is not hit by a node that has its time, or children, or no time to live', () => {
    const others = [{ ttlMs: 501, children: 0 }, { ttlMs: 500, children: 1 }, { children: 0 }];
    for (const [at, unused] of others.entries()) {
      history.marks.applied({ ...noop, index: logIndex(noop.index + at) }, state(unused));
    }
    expect(history.hits).toEqual({});
  });
});

describe('the mark of a container that is refilled before its removal', () => {
  const payload = encodeCommand({ type: 'removeUnused', nodes: [{ path: '/c', czxid: 3, mzxid: 0 }] });
  const header = { command: CommandType.removeUnused, session: 0, generation: 0, number: 0, ackedUpTo: 0 };
  const removal = entry(4, 2, EntryType.command, encodeEntry(header, payload));
  const state = (stat: object | undefined): StateMachine => ({ query: () => ({ type: 'exists', stat }) }) as never;

  it('is hit when it has a child where the entry is applied', () => {
    history.marks.applied(removal, state({ czxid: 3, numChildren: 1 }));
    expect(history.hits).toEqual({ 'container-refilled-before-removal': 1 });
  });

  it('is not hit when it is gone, or is another one', () => {
    history.marks.applied(removal, state(undefined));
    history.marks.applied({ ...removal, index: logIndex(5) }, state({ czxid: 4, numChildren: 1 }));
    expect(history.hits).toEqual({});
  });
});
