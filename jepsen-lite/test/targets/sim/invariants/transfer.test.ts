import { serverId, type Message, type Term } from '@holdfast/raft';
import { beforeEach, describe, expect, it } from 'vitest';
import { TransferInvariants, type LeadershipView } from '../../../../src/targets/sim/invariants/transfer.ts';

let violations: string[];
let logs: Map<number, number[]>;
let invariants: TransferInvariants;

beforeEach(() => {
  violations = [];
  // Three servers have the entries 1 and 2, of term 1.
  logs = new Map([1, 2, 3].map((id) => [id, [0, 1, 1]]));
  invariants = new TransferInvariants(
    (id) => logs.get(id) ?? [],
    (name) => void violations.push(name),
  );
  invariants.stepped(1, view({ role: 'leader', leader: 1 }));
  for (const id of [2, 3]) invariants.stepped(id, view({ leader: 1 }));
});

function view(fields: Partial<LeadershipView>): LeadershipView {
  return { role: 'follower', term: 1, leader: 0, commitIndex: 2, successor: 0, ...fields };
}

function vote(term: number, transfer: boolean): Message {
  return { type: 'vote', term: term as Term, lastIndex: serverId(2) as never, lastTerm: term as Term, transfer };
}

function elect(id: number, term: number, transfer: boolean): void {
  invariants.stepped(id, view({ role: 'candidate', term }));
  invariants.sending(id, vote(term, transfer));
  invariants.stepped(id, view({ role: 'leader', term, leader: id }));
}

describe('a leader that is asked to stop', () => {
  it('is followed by whom it asked, which counts', () => {
    invariants.stopping(1);
    expect(invariants.judging).toBe(true);
    elect(2, 2, true);
    expect(invariants.judging).toBe(false);
    expect(invariants.transfers).toBe(1);
    expect(violations).toEqual([]);
  });

  it('is not followed by one that stands of its own accord', () => {
    invariants.stopping(1);
    elect(2, 2, false);
    expect(violations).toEqual(['a-leader-that-stops-transfers-leadership']);
    expect(invariants.transfers).toBe(0);
  });

  it('is not judged once a fault has begun', () => {
    invariants.stopping(1);
    invariants.disturbed();
    elect(2, 2, false);
    expect(violations).toEqual([]);
    expect(invariants.transfers).toBe(0);
  });

  it('is not judged without a follower that has what is committed', () => {
    for (const id of [2, 3]) logs.set(id, [0, 1]);
    invariants.stopping(1);
    expect(invariants.judging).toBe(false);
  });

  it('is not judged when another leads a later term', () => {
    elect(3, 2, false);
    invariants.stopping(1);
    expect(invariants.judging).toBe(false);
  });
});

describe('a server that takes another for its successor', () => {
  it('may do so when that one was elected with all that it had', () => {
    elect(2, 2, true);
    logs.set(1, [0]);
    invariants.stepped(1, view({ term: 2, leader: 2, successor: 2 }));
    expect(violations).toEqual([]);
  });

  it('may not when that one lacks an entry of its leadership', () => {
    logs.set(1, [0, 1, 1, 1]);
    invariants.stepped(1, view({ role: 'leader', leader: 1 }));
    elect(3, 2, false);
    // What the new leader has by now says nothing of what it had.
    logs.set(3, [0, 1, 1, 1]);
    invariants.stepped(1, view({ term: 2, leader: 3, successor: 2 }));
    expect(violations).toEqual(['a-successor-has-all-that-was-proposed']);
  });
});
