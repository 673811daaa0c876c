import { EntryType, type Entry } from '@holdfast/raft';
import { StateMachine, type Output } from '@holdfast/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { LockInvariants } from '../../../../src/targets/sim/invariants/locks.ts';

const MANY = 1_500;

let problems: string[];
let walks: number;
let owner: number;
let invariants: LockInvariants;

beforeEach(() => {
  problems = [];
  walks = 0;
  owner = 0;
  invariants = new LockInvariants(
    (name) => problems.push(name),
    () => undefined,
  );
});

/** A tree of one level, in which the last node has an owner. */
function treeOf(nodes: number): StateMachine {
  const state = new StateMachine();
  const last = `/n${nodes - 1}`;
  const answers: Partial<StateMachine> = {
    query: ((query: { readonly type: string; readonly path: string }) => {
      if (query.type === 'exists') {
        return { type: 'exists', stat: { ephemeralOwner: query.path === last ? owner : 0 } };
      }
      if (query.path === '/') walks += 1;
      const names = query.path === '/' ? Array.from({ length: nodes }, (_each, n) => `n${n}`) : [];
      return { type: 'children', names };
    }) as StateMachine['query'],
  };
  return Object.assign(state, answers);
}

/** A session that began and ended in the same entry. */
function end(index: number, state: StateMachine): void {
  const entry = { index, term: 1, type: EntryType.noop, data: new Uint8Array() } as unknown as Entry;
  const session = index;
  const outputs = [
    { type: 'sessionCreated', session },
    { type: 'sessionEnded', session, reason: 'expired' },
  ] as unknown as readonly Output[];
  invariants.applied(1, entry, outputs, state);
}

describe('what ended sessions may have left in the tree', () => {
  it('is looked for at every end while the tree is small', () => {
    const state = treeOf(10);
    for (let index = 1; index <= 20; index += 1) end(index, state);
    expect(walks).toBe(20);
    owner = 3;
    end(21, state);
    expect(problems).toContain('an-ended-session-has-nothing');
  });

  it('is looked for once in as many entries as a large tree has nodes, and is found then', () => {
    const state = treeOf(MANY);
    for (let index = 1; index <= MANY; index += 1) end(index, state);
    expect(walks).toBe(1);
    owner = 3;
    end(MANY + 1, state);
    expect(walks).toBe(2);
    expect(problems).toContain('an-ended-session-has-nothing');
  });

  it('is found at the end of a log, whenever the last walk was', () => {
    const state = treeOf(MANY);
    end(1, state);
    owner = 1;
    end(2, state);
    expect(problems).not.toContain('an-ended-session-has-nothing');
    invariants.checkNodes(2, state);
    expect(problems).toContain('an-ended-session-has-nothing');
  });
});
