import { describe, it } from 'vitest';

import { checkWatches } from '../../src/checkers/watches.ts';
import type { HistoryEvent } from '../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../support/expect-verdict.ts';
import { Story } from '../support/story.ts';

type Kind = 'started' | 'created' | 'changed' | 'deleted' | 'resync' | 'left';

class Watched extends Story {
  /** As `c1`, `c2` and so on. */
  tell(watch: number, event: Kind, index: number, path = '/watched/n1', from?: number): HistoryEvent {
    const gap = from === undefined ? {} : { from };
    return this.record({ type: 'watched', watch, event, path, index, ...gap }, `c${watch}`);
  }

  show(client: number, index: number, by: 'write' | 'read' = 'write'): HistoryEvent {
    return this.record({ type: 'shown', by, path: '/watched/n1', index }, `c${client}`);
  }
}

/** Two watches from index 5, of which the second one is told all of it. */
function begun(): Watched {
  const story = new Watched();
  for (const watch of [1, 2]) story.tell(watch, 'started', 5);
  for (const index of [6, 7, 8]) story.tell(2, 'changed', index);
  story.tell(2, 'deleted', 8, '/watched/n2');
  return story;
}

describe('watches', () => {
  it('tell the same, each from where it has started to where it has come', () => {
    const story = begun();
    for (const index of [6, 7]) story.tell(1, 'changed', index);
    story.tell(1, 'left', 7);
    story.show(1, 9);
    expectValid(checkWatches(story.history));
  });

  it('may miss what they say', () => {
    const story = begun();
    story.tell(1, 'resync', 7, '/watched', 5);
    story.tell(1, 'changed', 8);
    story.tell(1, 'deleted', 8, '/watched/n2');
    story.tell(1, 'changed', 9);
    expectValid(checkWatches(story.history));
  });

  it('that tell nothing show nothing', () => {
    const story = new Watched();
    story.tell(1, 'started', 5);
    expectUnknown(checkWatches(story.history));
  });
});

describe('watches are broken by', () => {
  it('an event that one of them does not tell', () => {
    const story = begun();
    const first = story.tell(1, 'changed', 6);
    const last = story.tell(1, 'changed', 8);
    const [started] = story.history;
    const lost = story.history.find((event) => event.type === 'watched' && event.index === 7);
    expectBroken(checkWatches(story.history), /watch 1 does not tell "7 changed/, ...some(started, lost, last));
    void first;
  });

  it('an event that is told twice', () => {
    const story = begun();
    const told = story.tell(1, 'changed', 6);
    const again = story.tell(1, 'changed', 6);
    expectBroken(checkWatches(story.history), /tells "6 changed \/watched\/n1" twice/, told, again);
  });

  it('an event behind a later one', () => {
    const story = begun();
    const later = story.tell(1, 'changed', 7);
    const told = story.tell(1, 'changed', 6);
    expectBroken(checkWatches(story.history), /tells index 6 behind 7/, later, told);
  });

  it('an event from before it has started', () => {
    const story = begun();
    const told = story.tell(1, 'changed', 5);
    expectBroken(checkWatches(story.history), /begins behind 5, and tells 5/, ...some(story.history[0], told));
  });

  it('a write that nobody tells of', () => {
    const story = new Watched();
    const started = story.tell(1, 'started', 5);
    story.tell(1, 'changed', 6);
    const shown = story.show(3, 7);
    story.tell(1, 'changed', 8);
    expectBroken(checkWatches(story.history), /tells nothing of index 7/, started, shown);
  });

  it('an answer that shows what is told later', () => {
    const story = new Watched();
    story.tell(1, 'started', 5);
    const shown = story.show(1, 6, 'read');
    story.pass(100);
    const told = story.tell(1, 'changed', 6);
    expectBroken(checkWatches(story.history), /a read shows index 6 .* before watch 1 tells it/, shown, told);
  });
});

function some(...events: readonly (HistoryEvent | undefined)[]): HistoryEvent[] {
  return events.filter((event) => event !== undefined);
}
