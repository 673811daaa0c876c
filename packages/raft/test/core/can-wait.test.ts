import { describe, expect, it } from 'vitest';
import { LONG_ENTRY_BYTES, serverId, type RaftEvent, type WriteSeq } from '../../src/core/index.ts';
import { ScriptedCore, accepted, append, ofType, refused } from './support/scripted-core.ts';

/** Leads in sync, with a proposal that is on no disk yet. Its write has the number that is returned. */
function proposed(): { readonly leader: ScriptedCore; readonly seq: WriteSeq; readonly index: number } {
  const leader = new ScriptedCore();
  leader.leadInSync();
  const [write] = ofType(leader.propose('x'), 'persist');
  if (write === undefined) throw new Error('a proposal is written');
  return { leader, seq: write.seq, index: leader.status.lastIndex };
}

function acknowledgement(leader: ScriptedCore, from: number, index: number, eagerCommit = false): RaftEvent {
  return { type: 'message', from: serverId(from), message: accepted(leader.status.term, index, eagerCommit) };
}

describe("a leader's own write", () => {
  it('can wait while nobody else has the entry', () => {
    const { leader, seq } = proposed();
    expect(leader.core.canWait({ type: 'persisted', seq })).toBe(true);
  });

  it('cannot wait when it makes the majority', () => {
    const { leader, seq, index } = proposed();
    leader.acknowledge(2, index);
    expect(leader.status.commitIndex).toBe(index - 1);
    expect(leader.core.canWait({ type: 'persisted', seq })).toBe(false);
    expect(ofType(leader.durable(), 'apply')).toMatchObject([{ upTo: index }]);
  });

  it('can wait once the others have committed the entry', () => {
    const { leader, seq, index } = proposed();
    leader.acknowledge(2, index);
    leader.acknowledge(3, index);
    expect(leader.status.commitIndex).toBe(index);
    expect(leader.core.canWait({ type: 'persisted', seq })).toBe(true);
  });
});

describe('an acknowledgement', () => {
  it('cannot wait when it makes the majority', () => {
    const { leader, index } = proposed();
    leader.durable();
    expect(leader.core.canWait(acknowledgement(leader, 2, index))).toBe(false);
  });

  it('can wait when the entry is committed, and counts with the next step', () => {
    const { leader, index } = proposed();
    leader.durable();
    leader.acknowledge(2, index);
    const late = acknowledgement(leader, 3, index);
    expect(leader.core.canWait(late)).toBe(true);
    leader.step(late, { type: 'propose', commands: [new Uint8Array(1)] });
    leader.acknowledge(3, index + 1);
    expect(leader.status.commitIndex).toBe(index);
    expect(ofType(leader.durable(), 'apply')).toMatchObject([{ upTo: index + 1 }]);
  });

  it('cannot wait when the follower wants to hear of commits at once', () => {
    const { leader, index } = proposed();
    leader.durable();
    leader.acknowledge(2, index);
    expect(leader.core.canWait(acknowledgement(leader, 3, index, true))).toBe(false);
  });

  it('cannot wait when the follower is to hear of a commit that takes long to apply', () => {
    const leader = new ScriptedCore();
    leader.leadInSync();
    leader.propose(new Uint8Array(LONG_ENTRY_BYTES));
    leader.durable();
    const index = leader.status.lastIndex;
    leader.acknowledge(2, index);
    expect(leader.core.canWait(acknowledgement(leader, 3, index))).toBe(false);
    leader.acknowledge(3, index);
    expect(leader.core.canWait(acknowledgement(leader, 3, index))).toBe(true);
  });

  it('cannot wait while a transfer does', () => {
    const { leader, index } = proposed();
    leader.durable();
    leader.acknowledge(2, index);
    leader.step({ type: 'transfer', ticket: 1, target: undefined });
    expect(leader.core.canWait(acknowledgement(leader, 3, index))).toBe(false);
  });

  it('cannot wait when it is of another term, or a refusal', () => {
    const { leader, index } = proposed();
    leader.durable();
    leader.acknowledge(2, index);
    const { term } = leader.status;
    const from = serverId(3);
    expect(leader.core.canWait({ type: 'message', from, message: accepted(term + 1, index) })).toBe(false);
    expect(leader.core.canWait({ type: 'message', from, message: refused(term, index, index - 1, term) })).toBe(false);
  });

  it('cannot wait when the follower lacks entries that it can now be sent', () => {
    const leader = new ScriptedCore({ config: { maxInflightMessages: 1 } });
    leader.leadInSync();
    leader.propose('x');
    leader.durable();
    leader.acknowledge(2, leader.status.lastIndex);
    const first = leader.status.lastIndex;
    leader.propose('y');
    expect(leader.core.canWait(acknowledgement(leader, 3, first))).toBe(false);
  });
});

describe('a write of another role', () => {
  it('can wait at a follower, whose answer the driver lets go by itself', () => {
    const follower = new ScriptedCore();
    const [write] = ofType(follower.receive(2, append(1, [0, 0], [1])), 'persist');
    expect(follower.core.canWait({ type: 'persisted', seq: write?.seq ?? (0 as WriteSeq) })).toBe(true);
  });

  it('cannot wait at a candidate, whose own vote may be the one that decides', () => {
    const candidate = new ScriptedCore();
    const [write] = ofType(candidate.stand(), 'persist');
    expect(candidate.status.role).toBe('candidate');
    expect(candidate.core.canWait({ type: 'persisted', seq: write?.seq ?? (0 as WriteSeq) })).toBe(false);
  });
});
