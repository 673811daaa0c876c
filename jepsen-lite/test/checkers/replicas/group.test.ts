/** What is judged of a group of replicas beside its keys: epochs, configurations, and what the replicas have in the end. */

import { describe, expect, it } from 'vitest';

import { checkConfigurations } from '../../../src/checkers/replicas/configurations.ts';
import { checkEpochs } from '../../../src/checkers/replicas/epochs.ts';
import { checkReplicas } from '../../../src/checkers/replicas/replicas.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { GroupStory } from '../../support/group/group-story.ts';

const ALL = ['r1', 'r2', 'r3'];

describe('epochs of answers', () => {
  it('may rise, and a call that began before may be answered in the lower one', () => {
    const story = new GroupStory();
    story.configured(3, 'r1', ALL);
    story.put('a', 3);
    const slow = story.putting('b', 'c2');
    story.configured(7, 'r2', ALL);
    story.put('c', 7);
    slow.ok({ revision: 2, epoch: 3 });
    const verdict = checkEpochs(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ answers: 3, epochs: 2 });
  });

  it('are broken by one that goes down, whoever was told of the higher one', () => {
    const story = new GroupStory();
    story.put('a', 3);
    const higher = story.put('b', 7).ok;
    const lower = story.get('b', 2, 3, 'c9');
    const words = /^c9 asked \(kv-get\) after an answer in epoch 7, and was answered in 3$/;
    expectBroken(checkEpochs(story.history), words, higher, lower);
  });

  it('are broken by one that no replica has claimed', () => {
    const story = new GroupStory();
    story.configured(3, 'r1', ALL);
    const { ok } = story.put('a', 4);
    expectBroken(checkEpochs(story.history), /^c1 was answered in epoch 4, which no replica has claimed$/, ok);
  });

  it('are not judged where nobody was answered', () => {
    const story = new GroupStory();
    story.putting('a').info();
    expectUnknown(checkEpochs(story.history));
  });
});

describe('configurations of a group', () => {
  it('change by claims from within, and by one replica at a time', () => {
    const story = new GroupStory();
    story.configured(0, 'r1', ALL);
    story.configured(5, 'r1', ALL);
    story.configured(5, 'r1', ['r1', 'r2']);
    story.configured(8, 'r2', ['r2', 'r1']);
    story.configured(8, 'r2', ['r2', 'r1', 'r3']);
    story.configured(8, 'r2', ['r2', 'r3']);
    const verdict = checkConfigurations(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ configurations: 6, claims: 2, changesOfPrimary: 1, joins: 1, removals: 2 });
  });

  it('are broken by consecutive in-sync sets that do not overlap', () => {
    const story = new GroupStory();
    story.configured(5, 'r1', ['r1', 'r2']);
    const before = story.configured(5, 'r1', ['r1']);
    const event = story.configured(8, 'r3', ['r3']);
    const { broken } = checkConfigurations(story.history);
    expect(broken.map(({ message }) => message)).toContain(
      'configuration 2 in epoch 8: consecutive in-sync sets do not overlap: r1 and then r3',
    );
    expect(broken.at(-1)?.events).toEqual([before.seq, event.seq]);
  });

  it.each<[string, RegExp, (story: GroupStory) => void]>([
    [
      'a claim from outside the set',
      /r3 claims the group, and was not in sync$/,
      (story) => {
        story.configured(5, 'r1', ['r1', 'r2']);
        story.configured(8, 'r3', ['r1', 'r2', 'r3']);
      },
    ],
    [
      'a claim with another set',
      /r2 claims the group with another in-sync set$/,
      (story) => {
        story.configured(5, 'r1', ALL);
        story.configured(8, 'r2', ['r2', 'r3']);
      },
    ],
    [
      'an epoch that goes down',
      /the epoch goes down from 8$/,
      (story) => {
        story.configured(8, 'r1', ALL);
        story.configured(5, 'r2', ALL);
      },
    ],
    [
      'another primary in the same epoch',
      /the primary was r1 in the same epoch$/,
      (story) => {
        story.configured(5, 'r1', ALL);
        story.configured(5, 'r2', ['r1', 'r2']);
      },
    ],
    [
      'two changes at once',
      /the in-sync set does not change by one replica$/,
      (story) => {
        story.configured(5, 'r1', ['r1', 'r2']);
        story.configured(5, 'r1', ['r1', 'r3']);
      },
    ],
    [
      'a set that is less than a majority',
      /the in-sync set is less than 2, a majority of the group$/,
      (story) => {
        story.configured(5, 'r1', ALL);
        story.configured(5, 'r1', ['r1', 'r2']);
        story.configured(5, 'r1', ['r1']);
      },
    ],
    [
      'a version that is left out',
      /^version 3 of the configuration follows version 0$/,
      (story) => {
        story.configured(5, 'r1', ALL);
        story.configured(8, 'r2', ALL, 3);
      },
    ],
    [
      'a primary that is not in sync',
      /has the primary r3, which is not in sync$/,
      (story) => {
        story.configured(5, 'r3', ['r1', 'r2']);
      },
    ],
  ])('are broken by %s', (_, words, tell) => {
    const story = new GroupStory();
    tell(story);
    const { broken, valid } = checkConfigurations(story.history);
    expect(broken.map(({ message }) => message)).toContainEqual(expect.stringMatching(words));
    expect(valid).toBe(false);
  });

  it('are not judged where nobody has claimed the group', () => {
    const story = new GroupStory();
    story.configured(0, 'r1', ALL);
    expectUnknown(checkConfigurations(story.history));
  });
});

describe('the replicas in the end', () => {
  /** One write, a last reading of it, and then what each replica has. */
  function ended(tell: (story: GroupStory) => void): GroupStory {
    const story = new GroupStory();
    const { revision } = story.put('a');
    story.quiet();
    story.get('a', revision);
    tell(story);
    return story;
  }

  it('have the same, which clients have read last', () => {
    const verdict = checkReplicas(ended((story) => ALL.forEach((replica) => story.kept(replica, 'a'))).history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ replicas: 3, keys: 1, lastReads: 1 });
  });

  it('may have a write of unknown outcome that has come later', () => {
    const story = new GroupStory();
    const { revision } = story.put('a');
    story.putting('late').info();
    story.quiet();
    story.get('a', revision);
    for (const replica of ALL) story.kept(replica, 'late', 2);
    expectValid(checkReplicas(story.history));
  });

  it('are broken by one that lacks a key', () => {
    const { history } = ended((story) => {
      story.kept('r1', 'a');
      story.kept('r2', undefined, 1, 'a');
    });
    expect(checkReplicas(history).broken[0]?.message).toBe('key b/k: r1 has "a" of revision 1, and r2 has nothing');
  });

  it('are broken by one that has another revision', () => {
    const { history } = ended((story) => {
      story.kept('r1', 'a');
      story.kept('r2', 'a', 2);
    });
    expect(checkReplicas(history).broken[0]?.message).toMatch(
      /r1 has "a" of revision 1, and r2 has "a" of revision 2$/,
    );
  });

  it('are broken by one that has the same keys and another fence', () => {
    const { history } = ended((story) => {
      story.kept('r1', 'a');
      story.kept('r2', 'a', 1, 'another');
    });
    expect(checkReplicas(history).broken.map(({ message }) => message)).toEqual(['r2 has not the same buckets as r1']);
  });

  it('are broken by all of them when an acknowledged write that was read last is in none', () => {
    const { history } = ended((story) => ALL.forEach((replica) => story.kept(replica)));
    expect(checkReplicas(history).broken.map(({ message }) => message)).toEqual([
      'key b/k: it was read last as "a" of revision 1, and r1 has nothing',
    ]);
  });

  it('are not judged where nobody has looked', () => {
    expectUnknown(checkReplicas(ended(() => {}).history));
  });
});
