import { describe, expect, it } from 'vitest';
import {
  EMPTY_CONFIGURATION,
  initialConfiguration,
  jointRemoval,
  logIndex,
  serverId,
  withoutMember,
  type Configuration,
} from '../../src/core/index.ts';
import type { Expulsion } from '../../src/peers/expelled-error.ts';
import { ExpulsionTally, type ExpulsionVoice } from '../../src/peers/expulsion-tally.ts';
import type { MembershipView } from '../../src/peers/peer-admission.ts';

const OWN = serverId(3);

function of(...ids: readonly number[]): Configuration {
  return initialConfiguration(ids.map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));
}

function at(latest: Configuration, committed = latest): MembershipView {
  return { latest: { index: logIndex(7), configuration: latest }, committed };
}

interface Words {
  readonly expulsion?: Expulsion;
  readonly voters?: readonly number[];
  readonly knowsUs?: boolean;
}

function voice(
  from: number,
  { expulsion = 'MEMBER_REMOVED', voters = [1, 2], knowsUs = false }: Words = {},
): ExpulsionVoice {
  return { from: serverId(from), knowsUs, notice: { expulsion, voterSets: [voters.map((id) => serverId(id))] } };
}

function verdictOf(view: MembershipView, ...voices: readonly ExpulsionVoice[]): Expulsion | undefined {
  const tally = new ExpulsionTally(OWN);
  for (const each of voices) tally.heard(each);
  return tally.verdict(view);
}

describe('an expulsion', () => {
  it('counts when a majority of the voters has said it, and never on the word of one of three', () => {
    expect(verdictOf(at(of(1, 2, 3)))).toBeUndefined();
    expect(verdictOf(at(of(1, 2, 3)), voice(1), voice(1))).toBeUndefined();
    expect(verdictOf(at(of(1, 2, 3)), voice(1), voice(2))).toBe('MEMBER_REMOVED');
    expect(verdictOf(at(of(1, 2, 3, 4, 5)), voice(1), voice(2))).toBeUndefined();
    expect(verdictOf(at(of(1, 2, 3, 4, 5)), voice(1), voice(2), voice(5))).toBe('MEMBER_REMOVED');
  });

  it('counts not by the voices of who is no voter', () => {
    expect(verdictOf(at(of(1, 2, 3)), voice(1), voice(7), voice(8))).toBeUndefined();
    expect(verdictOf(at(EMPTY_CONFIGURATION), voice(1), voice(2))).toBeUndefined();
  });

  it('takes both majorities while the configuration is joint', () => {
    const joint = jointRemoval(of(1, 2, 3, 4), serverId(4));
    expect(verdictOf(at(joint), voice(1), voice(2))).toBeUndefined();
    expect(verdictOf(at(joint), voice(1), voice(2), voice(4))).toBe('MEMBER_REMOVED');
  });

  it('of one of two takes the other one', () => {
    expect(verdictOf(at(of(2, 3)), voice(2, { expulsion: 'WRONG_INCARNATION' }))).toBe('WRONG_INCARNATION');
  });

  it('is a removal only when that is what the majority said, or one who knows this server: else one voice would name the reason', () => {
    const disk = { expulsion: 'WRONG_INCARNATION' } as const;
    expect(verdictOf(at(of(1, 2, 3)), voice(1, disk), voice(2))).toBe('WRONG_INCARNATION');
    expect(verdictOf(at(of(1, 2, 3)), voice(1), voice(2, disk))).toBe('WRONG_INCARNATION');
    expect(verdictOf(at(of(1, 2, 3, 4, 5)), voice(1, disk), voice(2), voice(4), voice(5))).toBe('MEMBER_REMOVED');
    expect(verdictOf(at(of(1, 2, 3)), voice(1, disk), voice(2, { knowsUs: true }))).toBe('MEMBER_REMOVED');
  });

  it('is known to the own log already when that holds the removal: one voice says that it is committed', () => {
    const shrunk = withoutMember(of(1, 2, 3, 4, 5), OWN);
    expect(verdictOf(at(shrunk, of(1, 2, 3, 4, 5)))).toBeUndefined();
    expect(verdictOf(at(shrunk, of(1, 2, 3, 4, 5)), voice(1))).toBe('MEMBER_REMOVED');
    expect(verdictOf(at(shrunk, of(1, 2, 3, 4, 5)), voice(1, { expulsion: 'WRONG_INCARNATION' }))).toBeUndefined();
  });

  it('counts by the majority that voters name who know this server: those of its own time may all be gone', () => {
    const later = { voters: [4, 5, 6], knowsUs: true };
    expect(verdictOf(at(of(1, 2, 3)), voice(4, later))).toBeUndefined();
    expect(verdictOf(at(of(1, 2, 3)), voice(4, later), voice(5, later))).toBe('MEMBER_REMOVED');
    const strangers = { voters: [4, 5, 6] };
    expect(verdictOf(at(of(1, 2, 3)), voice(4, strangers), voice(5, strangers))).toBeUndefined();
    expect(verdictOf(at(of(1, 2, 3)), voice(4, { voters: [], knowsUs: true }))).toBeUndefined();
  });
});
