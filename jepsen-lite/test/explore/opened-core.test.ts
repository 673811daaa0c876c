import * as product from '@holdfast/raft/core';
import { describe, expect, it } from 'vitest';

import { NO_RANDOMNESS } from '../../src/explore/world/normal-form.ts';
import { openCore, openName, type CoreModule } from '../../src/explore/server/opened-core.ts';
import { copyOf, textOf } from '../../src/explore/world/structure.ts';
import type { Mutant } from '../../src/mutants/mutant.ts';

// "pnpm check" builds before it tests; after a change of the product by hand, build first.
const opened = await openCore();
const CONSTANTS = new Set<unknown>([NO_RANDOMNESS]);

type Events = readonly product.RaftEvent[];

/** An election, two commands, a read, a change of the members and a deposition, with writes that end late. */
const STORY: readonly Events[] = (() => {
  const peer = product.serverId(2);
  const term = product.term(1);
  const hear = (message: product.Message): Events => [{ type: 'message', from: peer, message }];
  const accepted = (index: number): Events =>
    hear({
      type: 'append-response',
      term,
      accepted: true,
      index: product.logIndex(index),
      hintTerm: product.term(0),
      refusedIndex: product.logIndex(0),
      eagerCommit: false,
    });
  const persisted = (seq: number): Events => [{ type: 'persisted', seq: seq as product.WriteSeq }];
  return [
    [{ type: 'peer-connected', peer }],
    [{ type: 'deadline' }],
    hear({ type: 'pre-vote-response', term, askedTerm: term, granted: true }),
    hear({ type: 'vote-response', term, granted: true }),
    persisted(1),
    persisted(2),
    accepted(1),
    [{ type: 'applied', index: product.logIndex(1) }],
    [{ type: 'propose', commands: [Uint8Array.of(1), Uint8Array.of(2)] }],
    [{ type: 'read-index', ticket: 7 }],
    accepted(3),
    persisted(3),
    [{ type: 'change-membership', ticket: 8, change: { type: 'remove', id: product.serverId(3) } }],
    accepted(4),
    hear({
      type: 'append',
      term: product.term(5),
      prevIndex: product.logIndex(3),
      prevTerm: term,
      commit: product.logIndex(3),
      entries: [],
    }),
  ];
})();

function create(module: CoreModule): product.RaftCore {
  const members = [1, 2, 3].map((id) => ({ id: product.serverId(id), peerAddress: `s${id}` }));
  const config: product.RaftConfig = Object.freeze({
    ...product.DEFAULT_RAFT_LIMITS,
    heartbeatMs: 1_000,
    id: product.serverId(1),
    initial: module.initialConfiguration(members),
    seed: 0,
  });
  const boot: product.DurableState = {
    hardState: { term: product.term(0), votedFor: product.NO_SERVER },
    base: product.LOG_START,
    lastIndex: product.logIndex(0),
    terms: [],
    snapshot: undefined,
    configurations: [],
  };
  return new module.RaftCore(config, boot, 0);
}

function createOpened(module = opened): product.RaftCore {
  const core = create(module);
  (core as unknown as Record<string, { random: unknown }>)[openName('core')]!.random = NO_RANDOMNESS;
  return core;
}

/** The state after each step. */
function* play(core: product.RaftCore): Generator<readonly product.Effect[]> {
  for (const [at, events] of STORY.entries()) yield core.step(events, at * 100 + 3_000);
}

describe('the opened core', () => {
  it('does what the product does', () => {
    const [ours, theirs] = [[...play(create(opened))], [...play(create(product))]];
    expect(ours).toEqual(theirs);
    expect(ours.flat().map(({ type }) => type)).toEqual(
      expect.arrayContaining(['persist', 'send', 'apply', 'read-rejected', 'membership-ended']),
    );
  });

  it('goes on as its copies do, and is not changed by what they do', () => {
    const core = createOpened();
    for (const [at, events] of STORY.entries()) {
      const copy = copyOf(core, CONSTANTS);
      const before = textOf(core, CONSTANTS);
      expect(textOf(copy, CONSTANTS)).toBe(before);
      const effects = copy.step(events, at * 100 + 3_000);
      expect(textOf(core, CONSTANTS)).toBe(before);
      expect(core.step(events, at * 100 + 3_000)).toEqual(effects);
      expect(textOf(core, CONSTANTS)).toBe(textOf(copy, CONSTANTS));
    }
  });

  it('has another text when any one of its fields has another value', () => {
    const core = createOpened();
    let leaves = 0;
    for (const _ of play(core)) {
      for (const path of leavesOf(core)) {
        const copy = copyOf(core, CONSTANTS);
        alter(copy, path);
        expect(textOf(copy, CONSTANTS), path.join('.')).not.toBe(textOf(core, CONSTANTS));
        leaves += 1;
      }
    }
    expect(leaves).toBeGreaterThan(1_000);
  });

  it('has a field that somebody adds in its text', async () => {
    const core = createOpened(await openCore(adding('#extra = 0;', 'this.#extra += 1;')));
    const before = copyOf(core, CONSTANTS);
    core.step([], 0);
    before.step([], 0);
    expect(textOf(core, CONSTANTS)).toBe(textOf(before, CONSTANTS));
    core.step([], 0);
    expect(textOf(core, CONSTANTS)).not.toBe(textOf(before, CONSTANTS));
  });

  it('refuses to be copied when somebody hides state in a function', async () => {
    const core = createOpened(
      await openCore(adding('#extra = (() => { let count = 0; return () => count++; })();', 'this.#extra();')),
    );
    expect(() => copyOf(core, CONSTANTS)).toThrow(`${openName('extra')} is a function`);
    expect(() => textOf(core, CONSTANTS)).toThrow('a function');
  });

  it('is refused for a bug that is planted elsewhere, and for one that does not fit', async () => {
    const mutant = adding('', '');
    await expect(
      openCore({ ...mutant, patches: [{ module: '@holdfast/state', file: 'machine.js', edits: [] }] }),
    ).rejects.toThrow('planted changes @holdfast/state/machine.js, which is not of the core');
    await expect(openCore(adding('', '', 'nothing that is there'))).rejects.toThrow('does not occur');
  });
});

function adding(field: string, atStep: string, find = 'step(events, now) {'): Mutant {
  const edits = [{ find, replace: `${field} step(events, now) { ${atStep}` }];
  return {
    name: 'planted',
    breaks: '',
    patches: [{ module: '@holdfast/raft', file: 'core/raft-core.js', edits }],
    caughtBy: [],
  };
}

type Path = readonly (string | number)[];

/** The ways to every number, text and truth value of a state, but for what is frozen, and for keys. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || value instanceof Uint8Array) return [];
  return parts(value).flatMap(([key, part]) => leavesOf(part, [...path, key]));
}

function parts(value: object): [string | number, unknown][] {
  if (value instanceof Map) return [...(value as Map<number, unknown>)];
  if (value instanceof Set) return [];
  return Object.entries(value);
}

function alter(root: object, path: Path): void {
  let holder: object = root;
  for (const key of path.slice(0, -1))
    holder = (holder instanceof Map ? holder.get(key) : (holder as never)[key]) as object;
  const key = path.at(-1) ?? '';
  const other = (value: unknown): unknown => (typeof value === 'boolean' ? !value : `${String(value)}'`);
  if (holder instanceof Map) holder.set(key, other(holder.get(key)));
  else (holder as Record<string, unknown>)[key] = other((holder as Record<string, unknown>)[key]);
}
