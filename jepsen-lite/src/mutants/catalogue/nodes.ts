/** Planted bugs of the tree of nodes: transactions, kinds, orders and counters. */

import type { Edit, Patch } from '../../patches/patch.ts';
import type { Mutant } from '../mutant.ts';

const STATE = '@holdfast/state';
const LOCKD = '@holdfast/lockd';

/** One that the properties notice. */
function inState(name: string, breaks: string, file: string, ...edits: readonly Edit[]): Mutant {
  return { name, breaks, patches: [{ module: STATE, file, edits }], caughtBy: ['properties'] };
}

/** One that whole ensembles notice as well: by the checker of that name, where clients do what it judges. */
function shownInState(
  by: 'transactions' | 'ttl-nodes' | 'containers',
  ...[name, breaks, file, ...edits]: Parameters<typeof inState>
): Mutant {
  const shownBy = { workload: by, checker: by };
  return { ...inState(name, breaks, file, ...edits), caughtBy: ['properties', 'simulation'], shownBy };
}

/** One of the clock by which a leader knows when a time to live is over. */
function inOffice(name: string, breaks: string, ...edits: readonly Edit[]): Mutant {
  const patches: readonly Patch[] = [{ module: LOCKD, file: 'nodes/unused-nodes.js', edits }];
  return { name, breaks, patches, caughtBy: ['simulation'], shownBy: { workload: 'ttl-nodes', checker: 'ttl-nodes' } };
}

export const nodeMutants: readonly Mutant[] = [
  inOffice(
    'time-to-live-restarted-by-an-election',
    'what was over of a time to live before an election counts after it',
    {
      find: 'this.#startMs + mtime + ttlMs - this.#startStamp',
      replace: 'this.#startMs + ttlMs',
    },
  ),
  inOffice('stamp-of-the-office-not-taken', 'a new leader counts by the stamp that its state has when it begins', {
    find: 'this.#startStamp = state.stamp;',
    replace: 'this.#startStamp = 0;',
  }),
  inOffice('monotonic-time-of-the-office-not-added', 'a new leader counts on from when it begins', {
    find: 'this.#startMs + mtime + ttlMs - this.#startStamp',
    replace: 'mtime + ttlMs - this.#startStamp',
  }),
  inOffice('office-by-the-wall-clock', 'a wall clock that jumps removes no node, and keeps none', {
    find: 'new Office(this.#deps)',
    replace:
      'new Office({ ...this.#deps, clock: { monotonicMs: () => this.#deps.clock.wallMs(), setTimer: (ms, act) => this.#deps.clock.setTimer(ms, act) } })',
  }),
  shownInState(
    'ttl-nodes',
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
            find: "invariant(this.#children.count(node) === 0, 'a node that is removed has no children');",
            replace: 'for (const name of this.childNames(node)) this.remove(this.child(node, name), index);',
          },
        ],
      },
    ],
    caughtBy: ['properties', 'simulation'],
    shownBy: { workload: 'containers', checker: 'containers' },
  },
  inState('never-used-container-removed', 'a container that never had a child stays', 'commands/remove-unused.js', {
    find: 'nodes.creations(node) > 0 && ',
    replace: '',
  }),
  shownInState(
    'transactions',
    'sequence-number-of-a-failed-transaction',
    'a transaction that fails uses no sequence number',
    'commands/nodes/transaction.js',
    {
      find: "if (change.type === 'error') return failed(place, change);",
      replace:
        "if (change.type === 'error') { draft.commit((of, each) => { if (each.type !== 'create' || !(each.parent >= 0) || each.sequence === 0) return; state.nodes.remove(state.nodes.create(each), state.index); }); return failed(place, change); }",
    },
  ),
  shownInState(
    'transactions',
    'transaction-applied-up-to-its-failure',
    'a transaction does all of its operations or none',
    'commands/nodes/transaction.js',
    {
      find: "if (change.type === 'error') return failed(place, change);",
      replace: "if (change.type === 'error') { draft.commit(forNumbers); return failed(place, change); }",
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
    find: "function commitForNumber(state, change) { switch (change.type) { case 'check': return 0;",
    replace:
      "function commitForNumber(state, change) { switch (change.type) { case 'check': state.nodes.setData(state.nodes.root, new Uint8Array(0), state.index, state.stamp); return 0;",
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
  shownInState(
    'transactions',
    'failed-operation-named-one-too-late',
    'a transaction that fails names the operation because of which it did',
    'commands/nodes/transaction.js',
    { find: "type: 'transactionFailed', operation,", replace: "type: 'transactionFailed', operation: operation + 1," },
  ),
];
