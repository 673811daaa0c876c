import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createMode, CreateMode, MUTEX, type Reply } from '@holdfast/protocol';

import { applyNodeCommand } from '../../src/commands/nodes/apply.ts';
import { commit } from '../../src/commands/nodes/commit.ts';
import { Draft } from '../../src/commands/nodes/draft.ts';
import { plan, type NodeCommand } from '../../src/commands/nodes/plan.ts';
import { LATEST_STATE_VERSION } from '../../src/state-version.ts';
import { NO_OPTIONS } from '../../src/locks/acquire-options.ts';
import { mutex } from '../../src/locks/kinds/mutex.ts';
import type { Session } from '../../src/sessions/session.ts';
import { StateSnapshot } from '../../src/snapshot/state-snapshot.ts';
import { State } from '../../src/state.ts';
import { VERSIONS } from '../../src/versions.ts';
import { rest } from '../support/snapshots.ts';

/** Small, so that random commands meet them. */
const LIMITS = { maxNodes: 16, maxTreeDataBytes: 26, maxTreeNameBytes: 110, maxEphemeralsPerSession: 2 };
const LOCKS = ['l', 'm'];

interface Asked {
  /** Which session asks. */
  readonly by: number;
  readonly command: NodeCommand;
}

/** Two sessions, the first of which holds lock l, for which the second waits; and what `before` has made. */
class Prepared {
  readonly state = new State({ limits: LIMITS, versions: VERSIONS, hashKey: { low: 1, high: 2 } });
  readonly sessions: readonly Session[];

  constructor(before: readonly Asked[]) {
    const { state } = this;
    state.raise(LATEST_STATE_VERSION);
    const options = { timeoutMs: 10_000, label: '', createdAt: 0, server: 1 };
    this.sessions = ['a', 'b'].map((secretHash) => {
      this.#begin();
      return state.sessions.create({ ...options, id: state.index, secretHash: secretHash.repeat(32) });
    });
    for (const lock of LOCKS) for (const session of this.sessions) this.#acquire(session, lock);
    for (const { by, command } of before) {
      this.#begin();
      applyNodeCommand(state, this.session(by), command);
    }
    for (const path of ['/a', '/a/b', '/ü']) {
      const node = state.nodes.find(path);
      if (node !== undefined) state.nodes.setExtra(node, 1, new Uint8Array(3));
    }
    this.#begin();
  }

  session(by: number): Session {
    const session = this.sessions[by];
    if (session === undefined) throw new Error(`there is no session ${by}`);
    return session;
  }

  /** All that a snapshot has. */
  get bytes(): Uint8Array {
    return rest(new StateSnapshot(this.state, this.state.index));
  }

  #acquire(session: Session, lock: string): void {
    this.#begin();
    const asked = { kind: mutex, request: MUTEX, parameters: undefined, options: NO_OPTIONS };
    this.state.locks.enqueue(session, lock, asked, this.state);
  }

  #begin(): void {
    const { state } = this;
    state.begin(state.index + 1, state.stamp + 10);
  }
}

function oneByOne(
  { state, session }: { state: State; session: (by: number) => Session },
  all: readonly Asked[],
): Reply[] {
  return all.map(({ by, command }) => applyNodeCommand(state, session(by), command));
}

/** The same commands as one draft; the replies of those that were planned come with its commit. */
function asDraft(prepared: Prepared, all: readonly Asked[]): Reply[] {
  const before = prepared.bytes;
  const draft = new Draft(prepared.state);
  const planned = all.map(({ by, command }) => {
    const change = plan(draft, prepared.session(by), command);
    if (change.type !== 'error') draft.add(change);
    return change;
  });
  expect(Buffer.compare(prepared.bytes, before)).toBe(0);
  const replies = draft.commit({ change: commit, deletion: (at, node) => commit(at, { type: 'delete', node }) });
  return planned.map((change) => (change.type === 'error' ? change : (replies.shift() as Reply)));
}

const path = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('/a', '/a/b', '/a/\u4e2d', '/a/b/c', '/ü', '/ü/') },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...LOCKS), fc.constantFrom('', '/q-0000000000', '/q-0000000001'))
      .map(([lock, node]) => `/holdfast/locks/${lock}${node}`),
  },
  { weight: 1, arbitrary: fc.constantFrom('/', '', 'a', '/a/', '/a//b', '/a0000000000', '/a/0000000001') },
);
const data = fc.uint8Array({ maxLength: 5 });
const version = fc.constantFrom(-1, -1, 0, 1);
const dataOrNone = fc.oneof(fc.constant([]), fc.tuple(data));
const command: fc.Arbitrary<NodeCommand> = fc.oneof(
  fc.record({
    type: fc.constant('createNode' as const),
    path,
    data: dataOrNone,
    mode: fc.constantFrom(0, 0, 1, 4, 4, 5, 6),
    ttlMs: fc.constantFrom(0, 0, 9),
  }),
  fc.record({ type: fc.constant('setNode' as const), path, data: dataOrNone, version }),
  fc.record({ type: fc.constant('create' as const), path, data, mode: fc.constantFrom(0, 0, 0, 1, 2, 3, 4, 7) }),
  fc.record({ type: fc.constant('set' as const), path, data, version }),
  fc.record({ type: fc.constant('delete' as const), path, version }),
);
const asked: fc.Arbitrary<Asked> = fc.record({ by: fc.nat(1), command });

describe('commands that are planned over a draft', () => {
  it('have the results, the state and the digest of the same commands one by one', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(
        fc.array(asked, { maxLength: 12, size: 'max' }),
        fc.array(asked, { maxLength: 20, size: 'max' }),
        (before, all) => {
          const [one, other] = [new Prepared(before), new Prepared(before)];
          const session = (by: number): Session => one.session(by);
          const expected = oneByOne({ state: one.state, session }, all);
          expect(asDraft(other, all)).toEqual(expected);
          expect(other.state.events).toEqual(one.state.events);
          expect(other.state.digest.value).toBe(one.state.digest.value);
          expect(Buffer.compare(other.bytes, one.bytes)).toBe(0);
          for (const reply of expected) {
            const result = reply.type === 'error' ? reply.code : reply.type;
            seen.set(result, (seen.get(result) ?? 0) + 1);
          }
          for (const { type } of one.state.events) seen.set(type, (seen.get(type) ?? 0) + 1);
        },
      ),
      { numRuns: 1_000, seed: 17 },
    );
    const results =
      'created changed done lost granted NOT_FOUND NODE_EXISTS EPHEMERAL_PARENT NOT_EMPTY BAD_VERSION RESERVED_PATH INVALID_ARGUMENT LIMIT_EXCEEDED UNSUPPORTED';
    for (const result of results.split(' ')) expect(seen.get(result), result).toBeGreaterThan(10);
  });

  it('see what the ones before will have made, and number and remove it', () => {
    const create = (path: string, more: { ephemeral?: boolean; sequential?: boolean } = {}): Asked => ({
      by: 0,
      command: { type: 'create', path, data: new Uint8Array(1), mode: createMode(more) },
    });
    const all: Asked[] = [
      create('/a'),
      create('/a/', { sequential: true }),
      create('/a/', { sequential: true, ephemeral: true }),
      { by: 1, command: { type: 'set', path: '/a/0000000001', data: new Uint8Array(0), version: 0 } },
      { by: 1, command: { type: 'delete', path: '/a/0000000001', version: 1 } },
      { by: 1, command: { type: 'delete', path: '/a', version: -1 } },
    ];
    const prepared = new Prepared([]);
    const replies = asDraft(prepared, all);
    expect(replies.map((reply) => (reply.type === 'error' ? reply.code : reply.type))).toEqual(
      'created created created changed done NOT_EMPTY'.split(' '),
    );
    expect(prepared.state.nodes.childNames(prepared.state.nodes.find('/a') ?? prepared.state.nodes.root)).toEqual([
      '0000000000',
    ]);
    expect(prepared.session(0).ephemerals.size).toBe(0);
  });

  it('change nothing when the draft is left alone', () => {
    const prepared = new Prepared([]);
    const before = prepared.bytes;
    const { value } = prepared.state.digest;
    const draft = new Draft(prepared.state);
    for (const path of ['/a', '/a/b']) {
      const create = { type: 'create', path, data: new Uint8Array(2), mode: CreateMode.persistent } as const;
      const change = plan(draft, prepared.session(0), create);
      if (change.type === 'error') throw new Error(change.message);
      draft.add(change);
    }
    expect(prepared.bytes).toEqual(before);
    expect([prepared.state.digest.value, prepared.state.events]).toEqual([value, []]);
  });
});
