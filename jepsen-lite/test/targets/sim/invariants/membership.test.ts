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
  type Entry,
} from '@holdfast/raft';
import { beforeEach, describe, expect, it } from 'vitest';
import { Configurations } from '../../../../src/targets/sim/invariants/configurations.ts';
import { MembershipInvariants, type LogView } from '../../../../src/targets/sim/invariants/membership.ts';

const three = initialConfiguration([1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `s${id}:1` })));
const facts = { clientAddress: '', incarnation: 'disk-4', joinSecret: '' };
const fourth = { id: serverId(4), peerAddress: 's4:1', ...facts, outgoing: false };
const learner = withMember(three, { ...fourth, role: 'learner' });
const promoted = jointPromotion(learner, serverId(4));
const fewer = jointRemoval(three, serverId(3));

let found: string[];
let configurations: Configurations;
let invariants: MembershipInvariants;

beforeEach(() => {
  found = [];
  configurations = new Configurations([1, 2, 3]);
  invariants = new MembershipInvariants(configurations, (name) => void found.push(name));
});

function view(fields: Partial<LogView> = {}): LogView {
  return { id: 1, terms: [0, 1, 1, 1, 1, 1, 1], term: 1, commitIndex: 6, role: 'leader', ...fields };
}

/** From index 2 on: entry 1 is the first of the term. */
function write(index: number, configuration: Configuration, server: Partial<LogView> = {}): void {
  const data = encodeConfiguration(configuration);
  const entry: Entry = { index: logIndex(index), term: term(1), type: EntryType.configuration, data };
  if (configurations.learn(entry)) invariants.wrote(view({ commitIndex: index - 1, ...server }), entry);
}

describe('a change of the voters', () => {
  it('goes through a joint configuration, in and out', () => {
    write(2, learner);
    write(3, promoted);
    write(4, finalConfiguration(promoted));
    write(5, jointRemoval(finalConfiguration(promoted), serverId(1)));
    expect(found).toEqual([]);
  });

  it.each([
    ['at once', [withMember(three, { ...fourth, role: 'voter' })]],
    ['from one joint configuration into another', [learner, promoted, jointRemoval(learner, serverId(3))]],
    ['out of a joint configuration to other voters', [learner, promoted, learner]],
  ])('is a violation %s', (_how, all) => {
    for (const [position, each] of all.entries()) write(position + 2, each);
    expect(new Set(found)).toEqual(new Set(['voters-change-through-a-joint-configuration']));
  });

  it('begins when the one before is committed, and an entry of the own term', () => {
    write(3, learner, { commitIndex: 1 });
    expect(found).toEqual([]);
    write(4, promoted, { commitIndex: 1 });
    expect(found).toEqual(['one-change-of-the-members-at-a-time']);
  });

  it('waits for an entry of the own term', () => {
    write(4, learner, { term: 1, terms: [0, 0, 0, 0, 1], commitIndex: 3 });
    expect(found).toEqual(['no-change-of-the-members-before-an-entry-of-the-own-term']);
  });

  it('may be repeated by whoever gets it from its leader', () => {
    write(2, learner);
    write(3, promoted);
    write(3, promoted, { id: 2, role: 'follower', commitIndex: 0 });
    expect(found).toEqual([]);
  });
});

describe('an id', () => {
  it('is not used by another data directory', () => {
    write(2, learner);
    write(3, withMember(learner, { ...fourth, role: 'learner', incarnation: 'another' }));
    expect(found).toEqual(['an-id-is-used-once']);
  });

  it('is not used again', () => {
    write(2, fewer);
    write(3, finalConfiguration(fewer));
    const again = withMember(finalConfiguration(fewer), { ...fourth, id: serverId(3), role: 'learner' });
    write(4, { ...again, retired: [], former: [] });
    expect(found).toEqual(['an-id-is-used-once']);
  });

  it('is not forgotten', () => {
    write(2, learner);
    write(3, three);
    expect(found).toEqual(['an-id-is-used-once']);
  });
});

describe('an election', () => {
  const elected = (server: Partial<LogView>): string[] => {
    invariants.elected(view(server), 6);
    return found;
  };

  it('is won by a majority of the voters, oneself among them', () => {
    invariants.granted(2, 1, 7);
    expect(elected({ term: 7 })).toEqual([]);
  });

  it.each([
    ['a vote given in another term', () => invariants.granted(2, 1, 6)],
    ['a vote for another', () => invariants.granted(2, 3, 7)],
    ['the vote of a learner', () => invariants.granted(4, 1, 7)],
  ])('is not won by %s', (_what, give) => {
    write(2, learner);
    give();
    expect(elected({ term: 7 })).toEqual(['leaders-are-elected-by-majorities-of-the-voters']);
  });

  it('takes both halves while the configuration is joint', () => {
    write(2, learner);
    write(3, promoted);
    for (const voter of [4, 2]) invariants.granted(voter, 1, 7);
    expect(elected({ term: 7 })).toEqual([]);
    for (const voter of [4, 3]) invariants.granted(voter, 4, 8);
    expect(elected({ id: 4, term: 8 })).toEqual(['leaders-are-elected-by-majorities-of-the-voters']);
  });

  it('has no candidates without a vote, but those that are removed by what is not committed', () => {
    write(2, learner);
    invariants.stands(view({ id: 4, role: 'candidate' }));
    expect(found).toEqual(['only-voters-stand-for-election']);
    const leaving = jointRemoval(learner, serverId(3));
    write(3, leaving);
    write(4, finalConfiguration(leaving));
    invariants.stands(view({ id: 3, role: 'candidate', commitIndex: 3 }));
    expect(found).toHaveLength(1);
    invariants.stands(view({ id: 3, role: 'candidate', commitIndex: 4 }));
    expect(found).toHaveLength(2);
  });
});

describe('a leader that is removed', () => {
  it('leads until the configuration without it is committed, and no longer', () => {
    write(2, fewer);
    write(3, finalConfiguration(fewer));
    invariants.committed(view({ id: 3, commitIndex: 2 }));
    invariants.committed(view({ id: 1, commitIndex: 3 }));
    invariants.committed(view({ id: 3, commitIndex: 3, role: 'follower' }));
    expect(found).toEqual([]);
    invariants.committed(view({ id: 3, commitIndex: 3 }));
    expect(found).toEqual(['a-leader-that-was-removed-leads-no-longer']);
  });
});
