import { describe, expect, it } from 'vitest';

import { logPlaceOf, logText } from '../../../src/report/words/log-places.ts';
import { Story } from '../../support/story.ts';

describe('the place of a finding in the Raft log', () => {
  it('is the index that its last event names', () => {
    const story = new Story();
    const first = story.acquire('a', 1);
    const second = story.acquire('b', 2);
    expect(logPlaceOf(story.history, [first.ok.seq, second.granted.seq])).toEqual({
      index: second.token,
      named: [first.token, second.token],
    });
  });

  it('is how far the log had come, where the events name no index', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    const read = story.ask({ f: 'get', bucket: 'b', key: 'k' }).ok({ value: null });
    story.acquire('b', 2);
    expect(logPlaceOf(story.history, [read.seq])).toEqual({ index: held.token, named: [] });
  });

  it('is the end of the log for a run that something ended, and none where the log is not told of', () => {
    const story = new Story();
    expect(logPlaceOf(story.history, [])).toBeUndefined();
    story.ask({ f: 'get', bucket: 'b', key: 'k' }).ok({ value: null });
    expect(logPlaceOf(story.history, [])).toBeUndefined();
    const held = story.acquire('a', 1);
    expect(logPlaceOf(story.history, [])?.index).toBe(held.token);
  });
});

describe('the log around it', () => {
  it('has eight entries on either side, and marks those that are named', () => {
    const lines = Array.from({ length: 100 }, (_, n) => ({ index: n + 1, term: 2, text: `entry ${n + 1}` }));
    const shown = logText(lines, { index: 99, named: [97, 99] }).split('\n');
    expect(shown).toHaveLength(10);
    expect(shown[0]).toBe('   91  term 2  entry 91');
    expect(shown.filter((line) => line.startsWith('>'))).toEqual([
      '>  97  term 2  entry 97',
      '>  99  term 2  entry 99',
    ]);
  });
});
