import { describe, expect, it } from 'vitest';

import type { StoryEvent, StoryFact } from '../../src/demo/event.ts';
import { renderTimeline } from '../../src/demo/timeline.ts';
import { judge } from '../../src/demo/verdict.ts';

const happened: readonly (readonly [StoryEvent['who'], StoryFact])[] = [
  ['A', { type: 'granted', token: 4 }],
  ['A', { type: 'sessions', of: ['A', 'B'] }],
  ['A', { type: 'installed', token: 4 }],
  ['A', { type: 'wrote', bucket: 'fenced', value: 'A' }],
  ['A', { type: 'wrote', bucket: 'unfenced', value: 'A' }],
  ['A', { type: 'checked' }],
  ['demo', { type: 'stopped' }],
  ['B', { type: 'granted', token: 9 }],
  ['B', { type: 'sessions', of: ['B'] }],
  ['B', { type: 'installed', token: 9 }],
  ['B', { type: 'wrote', bucket: 'fenced', value: 'B' }],
  ['B', { type: 'wrote', bucket: 'unfenced', value: 'B' }],
  ['demo', { type: 'resumed' }],
  ['A', { type: 'refused', bucket: 'fenced', code: 'STALE_TOKEN', presented: 4, highest: 9 }],
  ['A', { type: 'wrote', bucket: 'unfenced', value: 'A, late' }],
  ['demo', { type: 'found', bucket: 'fenced', value: 'B' }],
  ['demo', { type: 'found', bucket: 'unfenced', value: 'A, late' }],
];

const at = (entries: typeof happened): StoryEvent[] =>
  entries.map(([who, fact], position) => ({ at: 1_000 + 10 * position, who, fact }));
const broken = (entries: typeof happened): string[] =>
  judge(at(entries)).flatMap(({ claim, holds }) => (holds ? [] : [claim]));

/** The story with one kind of fact changed or left out. */
function otherwise(
  who: StoryEvent['who'],
  type: StoryFact['type'],
  change: (fact: StoryFact) => StoryFact | undefined,
): typeof happened {
  return happened.flatMap(([by, fact]) => {
    const changed = by === who && fact.type === type ? change(fact) : fact;
    return changed === undefined ? [] : [[by, changed] as const];
  });
}

describe('the verdict on the demo', () => {
  it('is that it happened, when it did', () => {
    expect(broken(happened)).toEqual([]);
  });

  it('fails with nothing recorded, every claim of it', () => {
    expect(judge([]).every(({ holds }) => !holds)).toBe(true);
  });

  it('fails when the late write was accepted by the fenced bucket', () => {
    const accepted = otherwise('A', 'refused', () => ({ type: 'wrote', bucket: 'fenced', value: 'A, late' }));
    expect(broken(accepted)).toEqual(['the fenced bucket refused the late write of A as stale']);
  });

  it('fails when it was refused for another reason, or with other tokens', () => {
    for (const change of [{ code: 'OVERLOADED' }, { presented: 5 }, { highest: 8 }]) {
      const refused = otherwise('A', 'refused', (fact) => ({ ...fact, ...change }) as StoryFact);
      expect(broken(refused)).toEqual(['the fenced bucket refused the late write of A as stale']);
    }
  });

  it('fails when the control did not take the late write', () => {
    const claims = broken(
      otherwise('A', 'wrote', (fact) => (fact.type === 'wrote' && fact.value === 'A, late' ? undefined : fact)),
    );
    expect(claims).toContain('the unfenced bucket, the control, accepted the same late write');
  });

  it('fails when the token of B is not higher', () => {
    expect(broken(otherwise('B', 'granted', () => ({ type: 'granted', token: 4 })))).toContain(
      'the token of B is higher than that of A',
    );
  });

  it('fails when A still had its session, so that B cannot have been granted by its expiry', () => {
    const alive = otherwise('B', 'sessions', () => ({ type: 'sessions', of: ['A', 'B'] }));
    expect(broken(alive)).toEqual([
      'because the session of A had expired: the ensemble had it before, and not any more',
    ]);
  });

  it('fails when B was granted only after A woke', () => {
    const events = at(happened).map((event) => (event.fact.type === 'resumed' ? { ...event, at: 1_065 } : event));
    expect(
      judge(events)
        .filter(({ holds }) => !holds)
        .map(({ claim }) => claim),
    ).toContain('B was granted the lock while A was stopped');
  });

  it('fails when a bucket ends with something else', () => {
    expect(broken(otherwise('demo', 'found', (fact) => ({ ...fact, value: null }) as StoryFact))).toHaveLength(2);
  });
});

describe('the timeline', () => {
  it('has a line for every event, with seconds since the first', () => {
    const lines = renderTimeline(at(happened)).trimEnd().split('\n');
    expect(lines).toHaveLength(happened.length);
    expect(lines[0]).toBe('   0.000 s  A     is granted the lock with token 4');
    expect(lines[13]).toBe(
      '   0.130 s  A     writes to the fenced bucket: refused, STALE_TOKEN, presented 4, highest 9',
    );
  });
});
