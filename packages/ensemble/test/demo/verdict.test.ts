import { describe, expect, it } from 'vitest';

import type { StoryEvent, StoryFact } from '../../src/demo/event.ts';
import { Screen } from '../../src/demo/screen.ts';
import { judge } from '../../src/demo/verdict.ts';

const happened: readonly (readonly [StoryEvent['who'], StoryFact])[] = [
  ['A', { type: 'granted', token: 4 }],
  ['A', { type: 'sessions', of: ['A', 'B'] }],
  ['A', { type: 'installed', token: 4 }],
  ['A', { type: 'wrote', bucket: 'fenced', value: '100' }],
  ['A', { type: 'wrote', bucket: 'unfenced', value: '100' }],
  ['A', { type: 'checked' }],
  ['A', { type: 'writing', bucket: 'fenced', value: '110' }],
  ['demo', { type: 'stopped' }],
  ['B', { type: 'granted', token: 9 }],
  ['B', { type: 'sessions', of: ['B'] }],
  ['B', { type: 'installed', token: 9 }],
  ['B', { type: 'wrote', bucket: 'fenced', value: '150' }],
  ['B', { type: 'wrote', bucket: 'unfenced', value: '150' }],
  ['demo', { type: 'resumed' }],
  ['A', { type: 'refused', bucket: 'fenced', code: 'STALE_TOKEN', presented: 4, highest: 9 }],
  ['A', { type: 'wrote', bucket: 'unfenced', value: '110' }],
  ['demo', { type: 'found', bucket: 'fenced', value: '150' }],
  ['demo', { type: 'found', bucket: 'unfenced', value: '110' }],
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
    const accepted = otherwise('A', 'refused', () => ({ type: 'wrote', bucket: 'fenced', value: '110' }));
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
      otherwise('A', 'wrote', (fact) => (fact.type === 'wrote' && fact.value === '110' ? undefined : fact)),
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

describe('the screen', () => {
  const told = (colour: boolean, columns = 100): string[] => {
    const screen = new Screen({ columns, colour });
    return at(happened).map((event) => screen.lines(event));
  };

  it('has A on the left, B on the right, and across both what happens to them', () => {
    const lines = told(false);
    expect(lines[0]).toBe('  0.0 s has the lock, with token 4\n');
    expect(lines.find((line) => line.includes('token 9'))).toBe(
      `  0.1 s ${' '.repeat(46)}has the lock, with token 9\n`,
    );
    expect(lines.find((line) => line.includes('A is stopped'))).toMatch(/^ {2}0\.1 s ─+ A is stopped .* ─+\n$/);
    expect(lines.find((line) => line.includes('REFUSED'))).toContain('token 4 is below 9');
    expect(lines.filter((line) => line.includes('OVER IT'))).toEqual([
      '  0.1 s 110 € written OVER IT in the store without\n          the fence\n',
    ]);
  });

  it('is silent of what only the verdict needs', () => {
    expect(told(false).filter((line) => line === '')).toHaveLength(7);
  });

  it('has colours only where that is asked for, and fits narrow terminals', () => {
    expect(told(false).join('')).not.toContain('\u001b');
    expect(told(true).join('')).toContain('\u001b[36mhas the lock');
    for (const line of told(false, 80).join('').split('\n'))
      if (!line.includes('─')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('ends with what is left, and why', () => {
    const end = new Screen({ columns: 100, colour: false }).end('150', '110');
    expect(end).toContain("150 €    B's 50 € are there");
    expect(end).toContain("110 €    B's 50 € are gone");
  });
});
