/** Planted bugs of the tree of nodes: transactions, kinds, orders and counters. */

import type { Edit } from '../../patches/patch.ts';
import type { Mutant } from '../mutant.ts';

const STATE = '@holdfast/state';

/** One that the properties notice. */
function inState(name: string, breaks: string, file: string, ...edits: readonly Edit[]): Mutant {
  return { name, breaks, patches: [{ module: STATE, file, edits }], caughtBy: ['properties'] };
}

export const nodeMutants: readonly Mutant[] = [
  inState(
    'time-to-live-not-checked-again',
    'a node whose data changed between the proposal of its removal and the entry stays',
    'commands/remove-unused.js',
    { find: 'return nodes.mzxid(node) === mzxid;', replace: 'return true;' },
  ),
  inState(
    'unused-node-taken-for-another',
    'a node that was made anew between the proposal of a removal and the entry stays',
    'commands/remove-unused.js',
    { find: 'nodes.czxid(node) !== czxid || ', replace: '' },
  ),
  {
    name: 'container-removed-with-a-child',
    breaks: 'a container that was refilled between the proposal of its removal and the entry stays',
    patches: [
      {
        module: STATE,
        file: 'commands/remove-unused.js',
        edits: [{ find: ' || nodes.childCount(node) > 0', replace: '' }],
      },
      {
        module: STATE,
        file: 'tree/row-node-store.js',
        edits: [
          {
            find: "invariant(this.childCount(node) === 0, 'a node that is removed has no children');",
            replace: 'for (const name of this.childNames(node)) this.remove(this.child(node, name), index);',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  inState('never-used-container-removed', 'a container that never had a child stays', 'commands/remove-unused.js', {
    find: 'nodes.creations(node) > 0 && ',
    replace: '',
  }),
  inState(
    'sequence-number-of-a-failed-transaction',
    'a transaction that fails uses no sequence number',
    'commands/nodes/transaction.js',
    {
      find: "if (change.type === 'error') return failed(place, change);",
      replace:
        "if (change.type === 'error') { draft.commit((of, each) => { if (each.type !== 'create' || !(each.parent >= 0) || each.sequence === 0) return; state.nodes.remove(state.nodes.create(each), state.index); }); return failed(place, change); }",
    },
  ),
  inState(
    'transaction-applied-up-to-its-failure',
    'a transaction does all of its operations or none',
    'commands/nodes/transaction.js',
    {
      find: "if (change.type === 'error') return failed(place, change);",
      replace: "if (change.type === 'error') { draft.commit(commitForNumber); return failed(place, change); }",
    },
  ),
  inState(
    'operation-blind-to-those-before',
    'an operation of a transaction sees what those before it did',
    'tree/tree-draft.js',
    {
      find: 'return this.#overlays.get(node)?.version ?? this.#below.version(node);',
      replace: 'return isStandIn(node) ? 0 : this.#below.version(node);',
    },
  ),
  inState('check-that-changes-the-version', 'a check changes nothing', 'commands/nodes/commit.js', {
    find: "export function commitForNumber(state, change) { switch (change.type) { case 'check': return 0;",
    replace:
      "export function commitForNumber(state, change) { switch (change.type) { case 'check': state.nodes.setData(state.nodes.root, new Uint8Array(0), state.index, state.stamp); return 0;",
  }),
  inState(
    'ephemerals-of-one-entry-in-set-order',
    'nodes of one session that one entry made go in the same order on every machine',
    'commands/end-session.js',
    {
      find: 'nodes.czxid(left) - nodes.czxid(right) || left - right',
      replace: 'nodes.czxid(left) - nodes.czxid(right)',
    },
  ),
  inState('empty-data-taken-for-none', 'empty data are told apart from none', 'tree/row-node-store.js', {
    find: 'if (this.hasData(node) !== (given !== undefined))',
    replace: 'if (this.hasData(node) !== (data.length > 0))',
  }),
  inState(
    'kind-forgotten-by-a-restore',
    'a restored machine knows which nodes go by themselves',
    'tree/storage/node-extras.js',
    {
      find: 'this.#write(row, after);',
      replace: 'if (before.length > 0 || tag !== 2 || bytes.length !== 1) this.#write(row, after);',
    },
  ),
  inState(
    'children-version-stays-at-a-removal',
    'the removal of an unused node shows in its parent',
    'tree/row-node-store.js',
    {
      find: 'this.#children.remove(node); this.#childrenChanged(parent, index);',
      replace:
        'this.#children.remove(node); if (this.lifetime(node) === undefined) this.#childrenChanged(parent, index);',
    },
  ),
  inState(
    'parent-looked-for-before-nul',
    'U+0000 in a path is refused before the parent is looked for',
    'commands/nodes/plan-create.js',
    { find: "nulIsCheckedFirst && path.includes('\\0')", replace: 'false' },
  ),
  inState(
    'failed-operation-named-one-too-late',
    'a transaction that fails names the operation because of which it did',
    'commands/nodes/transaction.js',
    { find: "type: 'transactionFailed', operation,", replace: "type: 'transactionFailed', operation: operation + 1," },
  ),
];
