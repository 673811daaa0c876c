import {
  EMPTY_CONFIGURATION,
  EntryType,
  LOG_START,
  NO_SERVER,
  encodeConfiguration,
  initialConfiguration,
  jointPromotion,
  jointRemoval,
  logIndex,
  serverId,
  term,
  withMember,
  type Configuration,
  type Entry,
  type WriteSeq,
} from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { ConsensusInvariants } from '../../../../src/targets/sim/invariants/consensus.ts';

const member = (id: number) => ({ id: serverId(id), peerAddress: `s${id}:1` });
const three = initialConfiguration([1, 2, 3].map(member));
const learner = withMember(three, {
  ...member(4),
  clientAddress: '',
  incarnation: '',
  joinSecret: '',
  role: 'learner',
  outgoing: false,
});

const EMPTY = {
  hardState: { term: term(0), votedFor: NO_SERVER },
  base: LOG_START,
  snapshot: undefined,
  lastIndex: logIndex(0),
  terms: [],
  configurations: [],
} as const;

/** Servers 1 to 4, of which 1 to 3 vote; each line is one entry, and who has it on disk when server 1 commits it. */
function broken(...lines: readonly (readonly [Configuration | 'command', readonly number[]])[]): string[] {
  const found: string[] = [];
  const consensus = new ConsensusInvariants([1, 2, 3, 4], (name) => found.push(name), [1, 2, 3]);
  for (const id of [1, 2, 3, 4]) consensus.opened(id, EMPTY);
  let seq = 0;
  for (const [position, [what, holders]] of lines.entries()) {
    const index = logIndex(position + 1);
    const entry: Entry =
      what === 'command'
        ? { index, term: term(1), type: EntryType.command, data: new Uint8Array([position]) }
        : { index, term: term(1), type: EntryType.configuration, data: encodeConfiguration(what) };
    for (const id of new Set([1, ...holders])) {
      seq += 1;
      const core = { role: 'follower', term: 1, votedFor: 0, commitIndex: position, lastIndex: index };
      const persist = { type: 'persist', seq: seq as WriteSeq, entries: [entry] } as const;
      consensus.stepped(id, [{ ...persist, hardState: undefined, snapshot: undefined, truncateFrom: undefined }], core);
      if (holders.includes(id)) consensus.persisted(id, persist.seq);
    }
    consensus.stepped(1, [], { role: 'follower', term: 1, votedFor: 0, commitIndex: index, lastIndex: index });
  }
  // Some of these logs begin with what no change of the members leads to.
  return [...new Set(found)].filter((name) => name === COMMIT);
}

const COMMIT = 'committed-is-durable-on-a-majority';

describe('the majority that an entry needs', () => {
  it('is of the voters that the cluster began with, until they change', () => {
    expect(broken(['command', [1, 2]])).toEqual([]);
    expect(broken(['command', [1]])).toEqual([COMMIT]);
    expect(broken(['command', [1, 4]])).toEqual([COMMIT]);
  });

  it('never counts a learner', () => {
    expect(broken([learner, [1, 2]])).toEqual([]);
    expect(broken([learner, [1, 4]])).toEqual([COMMIT]);
    expect(broken([learner, [1, 2]], ['command', [1, 2]])).toEqual([]);
  });

  it('is one of those that come and one of those that go, from the joint configuration itself on', () => {
    const joint = jointPromotion(learner, serverId(4));
    expect(broken([joint, [1, 2, 4]])).toEqual([]);
    expect(broken([joint, [1, 2]])).toEqual([COMMIT]);
    // Two of the three that come are not enough: of the four that go three are needed.
    const four = initialConfiguration([1, 2, 3, 4].map(member));
    const fewer = jointRemoval(four, serverId(4));
    expect(broken([fewer, [1, 2, 3]])).toEqual([]);
    expect(broken([fewer, [1, 2]])).toEqual([COMMIT]);
    const smaller = jointRemoval(three, serverId(3));
    expect(broken([smaller, [1, 2]])).toEqual([]);
    expect(broken([smaller, [1, 3]])).toEqual([COMMIT]);
  });

  it('is none of a configuration without voters', () => {
    expect(broken([EMPTY_CONFIGURATION, [1, 2, 3]])).toEqual([COMMIT]);
  });
});

describe('a leader', () => {
  /** Server 2 commits an entry of its term 4; then server 1, which has nothing of it, leads the given term. */
  function elected(inTerm: number): string[] {
    const found: string[] = [];
    const consensus = new ConsensusInvariants([1, 2, 3], (name) => found.push(name));
    for (const id of [1, 2, 3]) consensus.opened(id, EMPTY);
    const entry: Entry = { index: logIndex(1), term: term(4), type: EntryType.command, data: new Uint8Array([1]) };
    for (const id of [2, 3]) {
      const seq = id as number as WriteSeq;
      const persist = { type: 'persist', seq, entries: [entry], hardState: undefined } as const;
      const core = {
        role: id === 2 ? 'leader' : 'follower',
        term: 4,
        votedFor: 2,
        commitIndex: 0,
        lastIndex: 1,
      } as const;
      consensus.stepped(id, [{ ...persist, snapshot: undefined, truncateFrom: undefined }], core);
      consensus.persisted(id, seq);
    }
    consensus.stepped(2, [], { role: 'leader', term: 4, votedFor: 2, commitIndex: 1, lastIndex: 1 });
    consensus.stepped(1, [], { role: 'leader', term: inTerm, votedFor: 1, commitIndex: 0, lastIndex: 0 });
    return found.filter((name) => name === 'leader-completeness');
  }

  it('has all that was committed in earlier terms', () => {
    expect(elected(5)).toEqual(['leader-completeness']);
  });

  it('that late votes elect for an earlier term need not have what a later one has committed', () => {
    expect(elected(3)).toEqual([]);
  });
});
