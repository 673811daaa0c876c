import { describe, expect, it } from 'vitest';
import { conformanceCases, describeConformance, runConformance, type CaseResult } from '../src/index.ts';
import { FLAWS, memoryResource, type Flaw } from './support/memory-resource.ts';

describeConformance('memory', memoryResource(), { describe, it });

const failed = (results: readonly CaseResult[]): readonly string[] =>
  results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);

/** Cases that are there for the flaw. Others may fail as well. */
const EXPECTED: Readonly<Record<Flaw, readonly string[]>> = {
  'checks nothing': [
    'a stale write is refused and changes nothing',
    'a stale write is refused over another connection',
    'a replay of an older write is refused, one of the newest is taken',
    'the highest token, 2^53 − 1, is exact',
    'tokens are compared as numbers',
    'no older write gets in between an install and the first write',
    'an old holder that writes on is fenced from the moment of an install',
    'random calls one after another do as the model',
  ],
  'checks, and writes later': [
    'of many writes at once the highest is written last, without a deadlock',
    'a new holder reads nothing that is about to be overwritten',
    'a write that was checked in time does not come behind a newer one',
    'random calls at once do as the model in some order',
  ],
  'has a token for each cell': [
    'a token fences all cells of its scope, written or not',
    'an install fences a scope that nobody has written',
  ],
  'ignores installs': [
    'no older write gets in between an install and the first write',
    'an install fences a scope that nobody has written',
    'an old holder that writes on is fenced from the moment of an install',
    'of many installs at once the highest wins, without a deadlock',
  ],
  'installs without looking': ['a stale install is refused and lowers nothing'],
  'compares as text': ['tokens are compared as numbers'],
  'compares in single precision': ['the highest token, 2^53 − 1, is exact'],
  'refuses equal tokens': [
    'a holder reads what it wrote, and writes as often as it likes',
    'two writers under one token are one holder',
    'an install can be repeated',
    'writes at once under one token are all taken',
  ],
  'takes writes without a token': ['a write without a token is refused'],
  'takes malformed tokens': ['a malformed token is refused and installs nothing'],
  'takes malformed floors': ['a malformed floor is refused and installs nothing'],
  'has one token for all scopes': ['scopes have tokens of their own'],
  'takes tokens for floors': [
    'holders that share a floor do not fence each other',
    'random calls with floors do as the model in some order',
  ],
  'lowers floors': ['a raised floor fences, and is not lowered'],
  'loses tokens in a restart': [
    'a restart keeps values and tokens',
    'a restart between an install and a write keeps the token',
  ],
  'loses tokens in a crash': [
    'a crash keeps values and tokens',
    'a crash between an install and a write keeps the token',
  ],
  'keeps half of a write in a crash': ['a write under way in a crash is written or not, and leaves no lock'],
  'writes what is rolled back': [
    'a write that is rolled back leaves value and token',
    'a first write that is rolled back leaves the scope to others',
  ],
  'forgets the token in a roll-back': ['a write that is rolled back leaves value and token'],
  'fails one of two at once': [
    'of many installs at once the highest wins, without a deadlock',
    'of many writes at once the highest is written last, without a deadlock',
  ],
  'does not install by writing': [
    'a stale write is refused and changes nothing',
    'a write installs its token as an install does',
  ],
  'forgets tokens after a while': ['a clock that jumps lets no older holder in'],
};

describe('the suite', () => {
  const redBy = new Map<string, Flaw[]>();

  it.each(FLAWS)('fails a resource that %s', async (flaw) => {
    const names = failed(await runConformance(memoryResource(flaw)));
    for (const name of names) redBy.set(name, [...(redBy.get(name) ?? []), flaw]);
    expect(names).toEqual(expect.arrayContaining([...EXPECTED[flaw]]));
  });

  it('has no case that every flawed resource passes', () => {
    const never = conformanceCases.map(({ name }) => name).filter((name) => !redBy.has(name));
    expect(never).toEqual([]);
  });

  it('has cases of different names', () => {
    const names = conformanceCases.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
