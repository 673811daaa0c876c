/** What a node has beside its fields: in the state and its digest, in snapshots, and through a program that does not know it. */

import { SnapshotError, StateMachine, type StateMachineOptions } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { StateDigest } from '../../src/state-digest.ts';
import { Capture } from '../../src/snapshot/capture.ts';
import type { SnapshotFeature } from '../../src/snapshot/features.ts';
import { StateRestore } from '../../src/snapshot/state-restore.ts';
import { StateSnapshot } from '../../src/snapshot/state-snapshot.ts';
import { State } from '../../src/state.ts';
import { MAX_NODE_EXTRAS_BYTES } from '../../src/tree/storage/node-extras.ts';
import { RowNodeStore } from '../../src/tree/row-node-store.ts';
import type { NodeSlot } from '../../src/tree/node-store.ts';
import { VERSIONS } from '../../src/versions.ts';
import { rest } from '../support/snapshots.ts';
import { bytes } from '../support/solo.ts';

const REQUIRED: SnapshotFeature = { number: 901, name: 'times to live', required: true };
const OPTIONAL: SnapshotFeature = { number: 902, name: 'hints', required: false };
const versions = { ...VERSIONS, snapshotFeatures: [...VERSIONS.snapshotFeatures, REQUIRED, OPTIONAL] };
const HASH_KEY = { low: 1, high: 2 };

function stateWith(...features: readonly SnapshotFeature[]): State {
  return new State({ limits: {}, hashKey: HASH_KEY, versions: { ...VERSIONS, snapshotFeatures: features } });
}

function add({ nodes }: State, name: string, parent: NodeSlot = nodes.root): NodeSlot {
  return nodes.create({ parent, name, data: bytes('data'), ephemeralOwner: 0, index: 5, stamp: 0 });
}

function snapshotOf(state: State, index = 9): Uint8Array {
  return rest(new StateSnapshot(state, index));
}

/** @throws SnapshotError */
function restored(from: Uint8Array, known: readonly SnapshotFeature[], index = 9): State {
  let state: State | undefined;
  const options = { limits: {}, hashKey: HASH_KEY, versions: { ...VERSIONS, snapshotFeatures: known } };
  const restoring = new StateRestore(options, index, (adopted) => (state = adopted));
  for (let at = 0; at < from.length; at += 50) restoring.push(from.subarray(at, at + 50));
  restoring.finish();
  if (state === undefined) throw new Error('nothing was adopted');
  return state;
}

function refusal(run: () => unknown): SnapshotError {
  try {
    run();
  } catch (error) {
    if (error instanceof SnapshotError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('an extra of a node', () => {
  const store = (digest = new StateDigest()): RowNodeStore => new RowNodeStore(digest, new Capture(), HASH_KEY);
  const create = (nodes: RowNodeStore, name: string): NodeSlot =>
    nodes.create({ parent: nodes.root, name, data: bytes('data'), ephemeralOwner: 0, index: 1, stamp: 0 });

  it('is what was set last, with the others in order of their tags, until it is taken away', () => {
    const nodes = store();
    const node = create(nodes, 'a');
    expect(nodes.extras(node)).toEqual([]);
    nodes.setExtra(node, 7, bytes('seven'));
    nodes.setExtra(node, 300, bytes(''));
    nodes.setExtra(node, 2, bytes('two'));
    nodes.setExtra(node, 7, bytes('seven, which is longer now'));
    expect(nodes.extras(node)).toEqual([
      { tag: 2, bytes: bytes('two') },
      { tag: 7, bytes: bytes('seven, which is longer now') },
      { tag: 300, bytes: bytes('') },
    ]);
    expect(nodes.extraTags()).toEqual([2, 7, 300]);
    for (const tag of [2, 7, 300, 8]) nodes.setExtra(node, tag, undefined);
    expect(nodes.extras(node)).toEqual([]);
    expect(nodes.extraTags()).toEqual([]);
  });

  it('counts as data, and goes with its node', () => {
    const nodes = store();
    const node = create(nodes, 'a');
    const before = nodes.dataBytes;
    nodes.setExtra(node, 7, new Uint8Array(100));
    expect(nodes.dataBytes - before).toBeGreaterThanOrEqual(100);
    nodes.remove(node, 2);
    expect([nodes.dataBytes, nodes.extraTags()]).toEqual([0, []]);
    expect(nodes.extras(create(nodes, 'b'))).toEqual([]);
  });

  it('stays what it is while cells of the slab move', () => {
    const nodes = store();
    const kept = Array.from({ length: 40 }, (_, n) => create(nodes, `kept ${n}`));
    for (const [n, node] of kept.entries()) nodes.setExtra(node, 1 + n, new Uint8Array(30 + n).fill(n));
    // Cells of one size after the other: what is idle passes what may be, and all cells move.
    for (let size = 100; size < 1_000; size += 100) {
      const passing = Array.from({ length: 40_000 }, (_, n) =>
        nodes.create({
          parent: nodes.root,
          name: `${n}`,
          data: new Uint8Array(size),
          ephemeralOwner: 0,
          index: 1,
          stamp: 0,
        }),
      );
      for (const node of passing) nodes.remove(node, 1);
    }
    for (const [n, node] of kept.entries()) {
      expect(nodes.extras(node)).toEqual([{ tag: 1 + n, bytes: new Uint8Array(30 + n).fill(n) }]);
    }
  });

  it.each([
    ['its tag', (nodes: RowNodeStore, node: NodeSlot) => nodes.setExtra(node, 8, bytes('x'))],
    ['its bytes', (nodes: RowNodeStore, node: NodeSlot) => nodes.setExtra(node, 7, bytes('y'))],
    ['its absence', (nodes: RowNodeStore, node: NodeSlot) => nodes.setExtra(node, 7, undefined)],
  ])('is part of the state digest by %s', (_, change) => {
    const digests = [new StateDigest(), new StateDigest()];
    for (const [at, digest] of digests.entries()) {
      const nodes = store(digest);
      const node = create(nodes, 'a');
      if (at === 0) nodes.setExtra(node, 7, bytes('x'));
      else change(nodes, node);
    }
    expect(digests[0]?.value).not.toBe(digests[1]?.value);
  });

  it('is bounded with the others of its node', () => {
    const nodes = store();
    const node = create(nodes, 'a');
    nodes.setExtra(node, 1, new Uint8Array(MAX_NODE_EXTRAS_BYTES - 100));
    expect(() => nodes.setExtra(node, 2, new Uint8Array(100))).toThrow('the extras of a node are bounded');
    expect(() => nodes.setExtra(node, 0, new Uint8Array())).toThrow('a tag is a number of two bytes');
  });
});

describe('a snapshot with extras', () => {
  it('names them in front, and is restored with them', () => {
    const state = stateWith(REQUIRED, OPTIONAL);
    const node = add(state, 'a');
    state.nodes.setExtra(node, REQUIRED.number, bytes('60 s'));
    const from = snapshotOf(state);
    const again = restored(from, [REQUIRED, OPTIONAL]);
    expect(again.nodes.extras(node)).toEqual([{ tag: REQUIRED.number, bytes: bytes('60 s') }]);
    expect(again.counts).toEqual(state.counts);
    expect(snapshotOf(again)).toEqual(from);
  });

  it('has them as they were when it began, whatever changes while it is taken', () => {
    const state = stateWith(REQUIRED, OPTIONAL);
    const node = add(state, 'a');
    state.nodes.setExtra(node, OPTIONAL.number, bytes('then'));
    const expected = snapshotOf(state);
    const taking = new StateSnapshot(state, 9);
    state.nodes.setExtra(node, OPTIONAL.number, bytes('later'));
    state.nodes.setExtra(node, REQUIRED.number, bytes('later, too'));
    const again = restored(rest(taking), [OPTIONAL]);
    expect(again.nodes.extras(node)).toEqual([{ tag: OPTIONAL.number, bytes: bytes('then') }]);
    expect(restored(expected, [OPTIONAL]).nodes.extras(node)).toEqual(again.nodes.extras(node));
  });

  it('has a node whose parent comes later, as any other', () => {
    const state = stateWith(OPTIONAL);
    const parent = add(state, 'parent');
    const child = add(state, 'child', parent);
    state.nodes.setExtra(child, OPTIONAL.number, bytes('x'));
    const taking = new StateSnapshot(state, 9);
    state.nodes.setExtra(child, OPTIONAL.number, undefined);
    const again = restored(rest(taking), [OPTIONAL]);
    expect(again.nodes.extras(child)).toEqual([{ tag: OPTIONAL.number, bytes: bytes('x') }]);
  });

  it('is refused when it has an extra of a slot that has no node', () => {
    const state = stateWith(OPTIONAL);
    const node = add(state, 'a');
    state.nodes.setExtra(node, OPTIONAL.number, bytes('other'));
    const from = snapshotOf(state);
    const view = new DataView(from.buffer, from.byteOffset);
    // An extra's record: its slot, its tag, its bytes.
    const at = Buffer.from(from).indexOf('other') - 6;
    expect([view.getUint32(at, true), view.getUint16(at + 4, true)]).toEqual([node, OPTIONAL.number]);
    view.setUint32(at, node + 1, true);
    expect(refusal(() => restored(from, [OPTIONAL])).message).toContain(
      `has an extra of slot ${node + 1}, which has no node`,
    );
  });

  it('is refused by the name of what it requires and the program does not know', () => {
    const state = stateWith(REQUIRED, OPTIONAL);
    state.nodes.setExtra(add(state, 'a'), REQUIRED.number, bytes('60 s'));
    const error = refusal(() => restored(snapshotOf(state), [OPTIONAL]));
    expect(error.code).toBe('UNSUPPORTED');
    expect(error.message).toContain('has the feature "times to live" (901), and this program does not know it');
  });

  it('keeps what it does not require through a program that does not know it', () => {
    const state = stateWith(OPTIONAL);
    const [kept, gone] = [add(state, 'kept'), add(state, 'gone')];
    for (const node of [kept, gone]) state.nodes.setExtra(node, OPTIONAL.number, bytes('hint'));
    const older = restored(snapshotOf(state), []);
    older.nodes.setData(kept, bytes('changed by the older program'), 10, 0);
    older.nodes.remove(gone, 11);
    const again = restored(snapshotOf(older, 11), [OPTIONAL], 11);
    expect(again.nodes.extras(kept)).toEqual([{ tag: OPTIONAL.number, bytes: bytes('hint') }]);
    older.nodes.remove(kept, 12);
    expect(snapshotOf(older, 12)).toEqual(snapshotOf(restored(snapshotOf(older, 12), [], 12), 12));
    expect(Buffer.from(snapshotOf(older, 12)).includes('hints')).toBe(false);
  });

  it('is refused when it does not name them, or names them twice, too late, or more than it has', () => {
    const state = stateWith(REQUIRED, OPTIONAL);
    state.nodes.setExtra(add(state, 'a'), REQUIRED.number, bytes('60 s'));
    const from = snapshotOf(state);
    const altered = (change: (view: DataView) => void): Uint8Array => {
      const copy = from.slice();
      change(new DataView(copy.buffer));
      return copy;
    };
    const FEATURES_OFFSET = 8;
    const FIRST_RECORD = 104;
    const first = FIRST_RECORD + 5;
    const messages = [
      altered((view) => view.setUint32(FEATURES_OFFSET, 0, true)),
      altered((view) => view.setUint32(FEATURES_OFFSET, 2, true)),
      altered((view) => view.setUint16(first, OPTIONAL.number, true)),
      altered((view) => view.setUint16(first, 0, true)),
    ].map((each) => refusal(() => restored(each, [REQUIRED, OPTIONAL])).message);
    expect(messages).toEqual([
      expect.stringContaining('has a feature 901 that cannot be'),
      expect.stringContaining('names 1 features, not 2'),
      expect.stringContaining('has an extra of the tag 901, which it does not name'),
      expect.stringContaining('has a feature 0 that cannot be'),
    ]);
  });
});

describe('a snapshot of a format that the program does not know', () => {
  it('is refused, and says which it knows', () => {
    const options: StateMachineOptions = { versions };
    const from = rest(new StateMachine(options).beginSnapshot());
    new DataView(from.buffer).setUint32(4, 9, true);
    const restoring = new StateMachine(options).beginRestore(0);
    const error = refusal(() => restoring.push(from.subarray(0, 8)));
    expect([error.code, error.message]).toEqual([
      'UNSUPPORTED',
      expect.stringContaining('format version 9, and this program knows 1'),
    ]);
  });
});
