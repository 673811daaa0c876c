import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MAX_PAGE_ENTRIES } from '@holdfast/protocol';

import { MIN_INDEXED_CHILDREN } from '../../src/queries/child-pages.ts';
import { copyOf } from '../support/snapshots.ts';
import { codeOf, operation, Solo, type SoloSession } from '../support/solo.ts';

const { create, delete: remove } = operation;

/** A directory with so many children, of which every page is asked for by `limit`. */
function directory(children: number): { solo: Solo; session: SoloSession } {
  const solo = new Solo().raise();
  const session = solo.open();
  session.made('/d');
  for (let from = 0; from < children; from += 1_000) {
    const names = Array.from(
      { length: Math.min(1_000, children - from) },
      (_, n) => `/d/${((from + n) * 7919) % 100_003}`,
    );
    session.done(names.map((path) => create(path, { data: '' })));
    session.ackedUpTo = session.number;
  }
  return { solo, session };
}

function pages(solo: Solo, limit: number, between: () => void = () => undefined): string[] {
  const names: string[] = [];
  for (let more = true; more;) {
    const page = solo.ask({ type: 'childrenPage', path: '/d', after: names.at(-1) ?? '', limit });
    expect(page.names.length).toBeLessThanOrEqual(limit);
    names.push(...page.names);
    more = page.more;
    between();
  }
  return names;
}

describe('pages of children', () => {
  it.each([0, 1, 999, MIN_INDEXED_CHILDREN, 9_000])('are the sorted names, of %i children', (children) => {
    const { solo } = directory(children);
    const { names } = solo.ask({ type: 'children', path: '/d' });
    expect(pages(solo, 700)).toEqual(names);
    expect(pages(solo, MAX_PAGE_ENTRIES)).toEqual(names);
  });

  it('have what is there throughout once, whatever comes and goes between and while they are prepared', () => {
    const change = fc.record({ add: fc.boolean(), name: fc.nat(20_000) });
    fc.assert(
      fc.property(fc.array(fc.array(change, { maxLength: 40 }), { minLength: 30, maxLength: 30 }), (rounds) => {
        const { solo, session } = directory(9_000);
        const before = new Set(solo.ask({ type: 'children', path: '/d' }).names);
        const touched = new Set<string>();
        let round = 0;
        const disturb = (): void => {
          for (const { add, name } of rounds[round % rounds.length] ?? []) {
            touched.add(`${name}`);
            if (add) session.create(`/d/${name}`);
            else session.delete(`/d/${name}`);
          }
          session.ackedUpTo = session.number;
          round += 1;
        };
        const query = { type: 'childrenPage', path: '/d', after: '', limit: 500 } as const;
        while (!solo.machine.prepare(query)) disturb();
        const names = pages(solo, 500, disturb);
        expect(new Set(names).size).toBe(names.length);
        expect(names).toEqual([...names].sort());
        const stayed = [...before].filter((name) => !touched.has(name));
        const listed = new Set(names);
        expect(stayed.filter((name) => !listed.has(name))).toEqual([]);
        expect(names.filter((name) => !before.has(name) && !touched.has(name))).toEqual([]);
        expect(pages(solo, 500)).toEqual(solo.ask({ type: 'children', path: '/d' }).names);
      }),
      { numRuns: 8 },
    );
  });

  it('are those of the node that is there now', () => {
    const { solo, session } = directory(1_500);
    expect(pages(solo, 1_000)).toHaveLength(1_500);
    const { names } = solo.ask({ type: 'children', path: '/d' });
    session.done([...names.map((name) => remove(`/d/${name}`)), remove('/d')]);
    session.made('/d');
    session.done(Array.from({ length: 1_200 }, (_, n) => create(`/d/new-${n}`)));
    expect(pages(solo, 1_000).every((name) => name.startsWith('new-'))).toBe(true);
  });

  it('are alike on a restored machine', () => {
    const { solo } = directory(2_500);
    const other = new Solo();
    Object.assign(other, { machine: copyOf(solo.machine) });
    expect(pages(other, 300)).toEqual(pages(solo, 300));
  });

  it('have no more than one answer can carry', () => {
    const solo = new Solo({ maxChildrenBytes: 100 }).raise();
    const session = solo.open();
    session.made('/d');
    for (let n = 0; n < 9; n += 1) session.made(`/d/${`${n}`.repeat(30)}`);
    expect(solo.ask({ type: 'childrenPage', path: '/d', after: '', limit: 1_000 })).toMatchObject({ more: true });
    expect(pages(solo, 1_000)).toHaveLength(9);
  });

  it('are of a node that exists', () => {
    const { solo } = directory(0);
    for (const type of ['childrenPage', 'descendants'] as const) {
      expect(codeOf(solo.machine.query({ type, path: '/no', after: '', limit: 1 }))).toBe('NOT_FOUND');
      expect(codeOf(solo.machine.query({ type, path: '/no//x', after: '', limit: 1 }))).toBe('INVALID_ARGUMENT');
    }
  });
});
