import { logIndex, serverId, term } from '@holdfast/raft/core';
import { describe, expect, it } from 'vitest';

import { boundsOf } from '../../src/explore/bounds.ts';
import { explore } from '../../src/explore/explore.ts';
import { mutantOf } from '../../src/explore/planted.ts';
import type { Known } from '../../src/explore/server/server-table.ts';
import { deviation } from '../../src/explore/vote-ban/conformance.ts';
import { MODEL_BOUNDS, exploreModel } from '../../src/explore/vote-ban/model.ts';
import { RULES } from '../../src/explore/vote-ban/rules.ts';

const WITHIN = MODEL_BOUNDS;
const LONG_MS = 60_000;

describe('the rules of the ban on voting', () => {
  it('let no leader begin without what is committed, in any world of three servers of which one loses its log', () => {
    const { broken, worlds, lifted } = exploreModel(RULES, { ...WITHIN, terms: 2 });
    expect(broken).toBeUndefined();
    expect(worlds).toBe(7_050);
    expect(lifted).toBeGreaterThan(50);
  });

  it.each([
    [
      'a banned server that votes',
      { ...RULES, mayVote: () => true },
      { ...WITHIN, terms: 2 },
      [
        'server 1 leads term 1, voted for by 1 and 2',
        'server 2 takes the log of 1 up to 1',
        'server 1 commits up to 1',
        'server 1 loses its log behind 0, and is banned since 2',
        'server 3 leads term 2, voted for by 1 and 3',
      ],
    ],
    [
      'a ban in a term in which somebody may count on what is lost',
      { ...RULES, banAfterLoss: ({ term: own }: { readonly term: number }) => own },
      { ...WITHIN, terms: 2 },
      [
        'server 1 leads term 1, voted for by 1 and 2',
        'server 2 takes the log of 1 up to 1',
        'server 1 logs a command',
        'server 2 takes the log of 1 up to 2',
        'server 1 commits up to 2',
        'server 2 loses its log behind 0, and is banned since 1',
        'server 2 takes the log of 1 up to 1',
        'server 2 may vote again',
        'server 2 leads term 2, voted for by 2 and 3',
      ],
    ],
    [
      'a ban that ends with any commit',
      {
        ...RULES,
        mayLift: ({ ban }: { readonly ban: number | undefined }, commit: number) => ban !== undefined && commit > 0,
      },
      WITHIN,
      [
        'server 1 leads term 1, voted for by 1 and 2',
        'server 2 takes the log of 1 up to 1',
        'server 1 logs a command',
        'server 2 takes the log of 1 up to 2',
        'server 1 commits up to 2',
        'server 1 leads term 2, voted for by 1 and 3',
        'server 2 loses its log behind 0, and is banned since 2',
        'server 2 takes the log of 1 up to 1',
        'server 2 may vote again',
        'server 2 leads term 3, voted for by 2 and 3',
      ],
    ],
  ])(
    'are all needed: with %s a leader lacks what is committed',
    (_, rules, within, steps) => {
      expect(exploreModel(rules, within).broken).toEqual(steps);
    },
    LONG_MS,
  );
});

describe('the steps of the core', () => {
  it('are what the rules allow, over losses, bans and their ends', async () => {
    const { broken, complete } = await explore(boundsOf('damages'), { states: Infinity });
    expect({ broken, complete }).toEqual({ broken: undefined, complete: true });
  });

  it(
    'are not when a ban ends before the log is durable, which no law of three servers sees',
    async () => {
      const mutant = mutantOf('vote-ban-lifted-before-the-log-is-durable');
      const { broken } = await explore(boundsOf('damages-of-slow-disks'), { states: 200_000, mutant });
      expect(broken).toMatchObject({
        law: 'rules-of-the-vote-ban',
        message: expect.stringMatching(/^server \d: the ban since 2 ends at commit \d of the log \[/),
      });
      // What the server did.
      expect(broken?.transcript).toMatch(
        /^ +1\. server (\d) [\s\S]*server \1 ends, its log has lost all but 0 entries[\s\S]*BROKEN rules-of-the-vote-ban/,
      );
    },
    LONG_MS,
  );
});

describe('a step of a server', () => {
  const server: Known = {
    position: 0,
    id: serverId(1),
    role: 'follower',
    votedFor: serverId(0),
    leads: 0,
    term: term(3),
    commit: logIndex(0),
    applied: 0,
    log: 0,
    durable: 0,
    durableTerm: term(3),
    durableVote: serverId(0),
    electorates: [],
    writing: false,
    voteBan: undefined,
    entriesOnDisk: 2,
    maySnapshot: false,
  };
  const banned: Known = { ...server, voteBan: term(3) };
  const judge = (before: Known, after: Known, action?: { type: 'damage'; kept: number }): string | undefined =>
    deviation({ before, after, action, termsOf: () => [1, 3] });

  it.each([
    [
      'that loses its log begins a ban above its terms',
      server,
      { ...server, voteBan: term(3) },
      'a ban since 3 in term 3, where it must be 4',
    ],
    [
      'that loses its log takes the term of the ban',
      server,
      { ...server, voteBan: term(4) },
      'a ban since 4 in term 3, where it must be 4',
    ],
    ['that loses its log and was banned', banned, { ...banned, voteBan: term(4), term: term(4) }, undefined],
  ])('%s', (_, before, after, expected) => {
    expect(judge(before, after, { type: 'damage', kept: 0 })).toBe(expected);
  });

  it.each([
    ['that has lost nothing begins none', server, banned, 'a ban without a loss'],
    [
      'that is banned does not vote',
      banned,
      { ...banned, votedFor: serverId(2) },
      'a banned server votes for 2 as follower in term 3',
    ],
    [
      'that is banned does not stand',
      banned,
      { ...banned, role: 'pre-candidate' as const },
      'a banned server votes for 0 as pre-candidate in term 3',
    ],
    ['that is banned keeps its ban', banned, { ...banned, voteBan: term(2) }, 'the ban since 3 becomes one since 2'],
    ['that is banned keeps the term', banned, { ...banned, term: term(2) }, 'term 2 under a ban since 3'],
    [
      'is free of the ban at an entry of an earlier term',
      banned,
      { ...server, commit: logIndex(1) },
      'the ban since 3 ends at commit 1 of the log [1 3]',
    ],
    [
      'is free of the ban behind its log',
      banned,
      { ...server, commit: logIndex(3) },
      'the ban since 3 ends at commit 3 of the log [1 3]',
    ],
    [
      'is free of the ban at an entry of its term',
      banned,
      { ...server, commit: logIndex(2), votedFor: serverId(2) },
      undefined,
    ],
    ['that was never banned votes', server, { ...server, votedFor: serverId(2) }, undefined],
  ])('%s', (_, before, after, expected) => {
    expect(judge(before, after)).toBe(expected);
  });
});
