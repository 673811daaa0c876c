import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { State } from '../../src/state.ts';
import { TreeDraft } from '../../src/tree/tree-draft.ts';
import { VERSIONS } from '../../src/versions.ts';

const PATHS = [
  '/',
  '',
  'a',
  '/a',
  '/a/',
  '//',
  '//a',
  '/a/b',
  '/a/b/',
  '/a//b',
  '/a/c',
  '/a/b/x',
  '/ab/c',
  '/ab',
  'a/b',
];

function tree(): State['nodes'] {
  const { nodes } = new State({ limits: {}, versions: VERSIONS, hashKey: { low: 1, high: 2 } });
  for (const path of ['/a', '/a/b', '/a/b/x', '/a/c', '/ab', '/ab/c']) {
    const slash = path.lastIndexOf('/');
    const parent = nodes.find(path.slice(0, slash) || '/') ?? nodes.root;
    const name = path.slice(slash + 1);
    nodes.create({ parent, name, data: new Uint8Array(0), ephemeralOwner: 0, index: 1, stamp: 1 });
  }
  return nodes;
}

describe('a draft of a tree', () => {
  it('finds what the tree has, whatever was looked for before', () => {
    const nodes = tree();
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PATHS), { maxLength: 20 }), (paths) => {
        const draft = new TreeDraft(nodes);
        for (const path of paths) expect(draft.find(path), path).toBe(nodes.find(path));
      }),
    );
  });

  it('finds no more what goes, beside what stays', () => {
    const nodes = tree();
    const draft = new TreeDraft(nodes);
    const gone = draft.find('/a/b/x');
    if (gone === undefined) throw new Error('it was made');
    draft.remove(gone);
    expect(draft.find('/a/b/x')).toBeUndefined();
    expect(draft.find('/a/b')).toBe(nodes.find('/a/b'));
    const parent = draft.find('/a') ?? nodes.root;
    const made = draft.create({
      parent,
      name: 'new',
      ephemeralOwner: 0,
      dataLength: 0,
      hasData: true,
      extraBytes: 0,
    });
    expect(draft.find('/a/new')).toBe(made);
    expect(draft.find('/a/c')).toBe(nodes.find('/a/c'));
  });
});
