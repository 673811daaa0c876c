import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { COUNT_SLICE_NODES, DescendantCounts, MAX_COUNTS } from '../../src/queries/descendant-counts.ts';
import { State } from '../../src/state.ts';
import type { NodeSlot } from '../../src/tree/node-slot.ts';
import { VERSIONS } from '../../src/versions.ts';
import { operation, Solo, type SoloSession } from '../support/solo.ts';

const { create, delete: remove } = operation;

function count(solo: Solo, path: string): number {
  return solo.ask({ type: 'descendants', path }).count;
}

/** So many nodes below "/d", in directories of a thousand. */
function wide(nodes: number): { solo: Solo; session: SoloSession } {
  const solo = new Solo().raise();
  const session = solo.open();
  session.made('/d');
  for (let from = 0; from < nodes; from += 1_000) {
    const below = Array.from({ length: Math.min(1_000, nodes - from) - 1 }, (_, n) => create(`/d/${from}/${n}`));
    session.done([create(`/d/${from}`), ...below]);
    session.ackedUpTo = session.number;
  }
  return { solo, session };
}

describe('the descendants of a node', () => {
  it('are all below it', () => {
    const solo = new Solo().raise();
    const session = solo.open();
    session.done(['/d', '/d/x', '/d/x/y', '/d/x/y/z', '/d/x/w', '/e'].map((path) => create(path)));
    expect(['/d', '/d/x', '/d/x/y', '/e', '/', '/holdfast'].map((path) => count(solo, path))).toEqual([
      4, 3, 1, 0, 8, 1,
    ]);
  });

  it('are counted slice by slice, more than 250,000 as well, and are those of the moment at its end', () => {
    const nodes = 300_000;
    const { solo, session } = wide(nodes);
    const query = { type: 'descendants', path: '/d' } as const;
    let slices = 1;
    while (!solo.machine.prepare(query)) {
      session.done([create(`/d/more-${slices}`), remove(`/d/0/${slices}`), create(`/d/more-${slices}/x`)]);
      slices += 1;
    }
    expect(slices).toBeGreaterThanOrEqual(Math.floor(nodes / COUNT_SLICE_NODES));
    expect(slices).toBeLessThan((1.1 * nodes) / COUNT_SLICE_NODES);
    expect(count(solo, '/d')).toBe(nodes + slices - 1);
    // What is counted is known from then on, as long as it is asked for.
    session.done([remove('/d/more-1/x')]);
    expect(solo.machine.prepare(query)).toBe(true);
    expect(count(solo, '/d')).toBe(nodes + slices - 2);
  });

  it('are those of the node that is there now', () => {
    const { solo, session } = wide(3);
    expect(solo.machine.prepare({ type: 'descendants', path: '/d' })).toBe(true);
    session.done([remove('/d/0/0'), remove('/d/0/1'), remove('/d/0'), remove('/d'), create('/e'), create('/e/f')]);
    expect(count(solo, '/e')).toBe(1);
  });
});

/** Changes a tree of a few names at random, and never one that has children. */
class Gardener {
  readonly nodes = new State({ limits: {}, versions: VERSIONS, hashKey: { low: 1, high: 2 } }).nodes;
  readonly top: NodeSlot;
  readonly #present: NodeSlot[];
  #named = 0;

  constructor() {
    this.top = this.plant(this.nodes.root);
    this.#present = [this.top];
  }

  change(pick: number, grows: boolean): void {
    const node = this.#present[pick % this.#present.length] ?? this.top;
    if (grows) {
      this.#present.push(this.plant(node));
    } else if (node !== this.top && this.nodes.childCount(node) === 0) {
      this.nodes.remove(node, 1);
      this.#present.splice(this.#present.indexOf(node), 1);
    }
  }

  plant(parent: NodeSlot): NodeSlot {
    this.#named += 1;
    const name = `${this.#named}`;
    return this.nodes.create({ parent, name, data: new Uint8Array(0), ephemeralOwner: 0, index: 1, stamp: 1 });
  }

  get below(): number {
    return this.#present.length - 1;
  }
}

describe('a count in slices', () => {
  it('is exact at its end and from then on, whatever comes and goes meanwhile', () => {
    const change = fc.tuple(fc.nat(1_000), fc.boolean());
    const changes = fc.array(fc.array(change, { maxLength: 8 }), { minLength: 40, maxLength: 60 });
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { maxLength: 60 }), changes, (before, rounds) => {
        const garden = new Gardener();
        for (const pick of before) garden.change(pick, true);
        const counts = new DescendantCounts(garden.nodes);
        for (const round of rounds) {
          const done = counts.prepare(garden.top, 2);
          if (done) expect(counts.of(garden.top)).toBe(garden.below);
          for (const [pick, grows] of round) garden.change(pick, grows);
        }
        expect(counts.of(garden.top)).toBe(garden.below);
      }),
    );
  });

  it('waits while there are others, and is begun when they are done or nobody asks for them any more', () => {
    const garden = new Gardener();
    const tops = Array.from({ length: 2 * MAX_COUNTS }, () => garden.plant(garden.top));
    for (const top of tops) for (let n = 0; n < 5; n += 1) garden.plant(top);
    const counts = new DescendantCounts(garden.nodes);
    const [first, ...others] = tops;
    const busy = [first, ...others.slice(0, MAX_COUNTS - 1)];
    const late = others[MAX_COUNTS] ?? garden.top;
    for (const top of busy) expect(counts.prepare(top ?? garden.top, 1)).toBe(false);
    for (let n = 0; n < 10; n += 1) expect(counts.prepare(late, 5)).toBe(false);
    expect(counts.prepare(first ?? garden.top, 5)).toBe(true);
    expect(counts.prepare(late, 5)).toBe(true);
    // Whose askers are gone.
    let asks = 1;
    const later = others[MAX_COUNTS + 1] ?? garden.top;
    for (const top of others.slice(0, MAX_COUNTS)) counts.prepare(top, 1);
    while (asks < 2_000 && !counts.prepare(later, 5)) asks += 1;
    expect(asks).toBeLessThan(1_100);
  });
});
