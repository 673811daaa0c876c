import { CreateMode, MAX_TTL_MS, type UnusedNode } from '@holdfast/protocol';
import { StateMachine } from '@holdfast/state';
import { describe, expect, it } from 'vitest';

import { bytesOf, copyOf, restore } from '../support/snapshots.ts';
import { asReply, bytes, codeOf, createNodeCommand, operation, Solo, type SoloSession } from '../support/solo.ts';

function begin(): { solo: Solo; session: SoloSession } {
  const solo = new Solo().raise();
  return { solo, session: solo.open() };
}

/** As the leader would name it now. */
function unused(solo: Solo, path: string): UnusedNode {
  const { stat } = solo.ask({ type: 'exists', path });
  const { traits } = solo.ask({ type: 'get', path });
  if (stat === undefined) throw new Error(`${path} does not exist`);
  return { path, czxid: stat.czxid, mzxid: traits?.container === true ? 0 : stat.mzxid };
}

function exists(solo: Solo, path: string): boolean {
  return solo.ask({ type: 'exists', path }).stat !== undefined;
}

describe('a container', () => {
  it('is removed when it has had children and has none, and its parent is told', () => {
    const { solo, session } = begin();
    asReply(session.createNode('/c', { container: true, data: 'x' }), 'created');
    session.made('/c/child');
    session.delete('/c/child');
    const before = solo.ask({ type: 'exists', path: '/' }).stat?.cversion ?? 0;
    expect(solo.removeUnused([unused(solo, '/c')])).toEqual([{ type: 'unusedRemoved', nodes: 1 }]);
    expect(exists(solo, '/c')).toBe(false);
    expect(solo.ask({ type: 'exists', path: '/' }).stat).toMatchObject({ cversion: before + 1, pzxid: solo.index });
  });

  it('stays while it was never used', () => {
    const { solo, session } = begin();
    session.createNode('/c', { container: true });
    solo.removeUnused([unused(solo, '/c')]);
    expect(exists(solo, '/c')).toBe(true);
  });

  it('stays when it was filled between the proposal and the entry', () => {
    const { solo, session } = begin();
    session.createNode('/c', { container: true });
    session.made('/c/a');
    session.delete('/c/a');
    const proposed = unused(solo, '/c');
    session.made('/c/b');
    expect(solo.removeUnused([proposed])).toEqual([{ type: 'unusedRemoved', nodes: 0 }]);
    expect(exists(solo, '/c/b')).toBe(true);
  });

  it('stays when it is another one than was proposed', () => {
    const { solo, session } = begin();
    const again = (): void => {
      session.createNode('/c', { container: true });
      session.made('/c/a');
      session.delete('/c/a');
    };
    again();
    const proposed = unused(solo, '/c');
    session.delete('/c');
    again();
    solo.removeUnused([proposed]);
    expect(exists(solo, '/c')).toBe(true);
  });

  it('can be made by the command that every version has', () => {
    const { solo, session } = begin();
    session.send({ type: 'create', path: '/c', data: bytes(''), mode: CreateMode.container });
    expect(solo.ask({ type: 'get', path: '/c' }).traits).toEqual({ noData: false, container: true, ttlMs: 0 });
    expect(solo.ask({ type: 'get', path: '/c' }).stat.ephemeralOwner).toBe(0);
  });
});

describe('a node with a time to live', () => {
  it('is removed as it was proposed, and may have had children', () => {
    const { solo, session } = begin();
    session.createNode('/t', { ttlMs: 5, data: 'x' });
    session.made('/t/child');
    const early = unused(solo, '/t');
    solo.removeUnused([early]);
    expect(exists(solo, '/t')).toBe(true);
    session.delete('/t/child');
    solo.removeUnused([early]);
    expect(exists(solo, '/t')).toBe(false);
  });

  it('stays when its data changed between the proposal and the entry', () => {
    const { solo, session } = begin();
    session.createNode('/t', { ttlMs: 5, data: 'x' });
    const proposed = unused(solo, '/t');
    session.set('/t', 'y');
    expect(solo.removeUnused([proposed])).toEqual([{ type: 'unusedRemoved', nodes: 0 }]);
    expect(exists(solo, '/t')).toBe(true);
  });

  it('may be numbered by its parent', () => {
    const { session } = begin();
    expect(asReply(session.createNode('/t-', { ttlMs: MAX_TTL_MS, sequential: true }), 'created').path).toBe(
      '/t-0000000001',
    );
  });

  it.each([0, MAX_TTL_MS + 1])('of %i ms is refused before anything else is looked at', (ttlMs) => {
    const { session } = begin();
    const command = { ...createNodeCommand('/no/such/\0'), mode: CreateMode.persistentTtl, ttlMs };
    expect(asReply(session.send(command), 'error')).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('give one from 1 to 1099511627775 ms') as string,
    });
  });

  it('must be of a mode that has one', () => {
    const { session } = begin();
    for (const mode of [0, 1, 2, 3, 4])
      expect(codeOf(session.send({ ...createNodeCommand('/a'), mode, ttlMs: 5 })), `${mode}`).toBe('INVALID_ARGUMENT');
    const create = { type: 'create', path: '/a', data: bytes('') } as const;
    for (const mode of [5, 6]) expect(codeOf(session.send({ ...create, mode })), `${mode}`).toBe('INVALID_ARGUMENT');
    expect(codeOf(session.send({ ...create, mode: 7 }))).toBe('UNSUPPORTED');
  });
});

describe('what the leader proposes to remove', () => {
  it('never touches other nodes, whatever it names', () => {
    const { solo, session } = begin();
    session.made('/p');
    session.made('/e', { ephemeral: true });
    session.acquire('lock');
    const { nodes } = solo.machine.counts;
    const paths = ['/', '/p', '/e', '/holdfast', '/holdfast/locks', '/holdfast/locks/lock'];
    const named = paths.flatMap((path) => [unused(solo, path), { ...unused(solo, path), mzxid: 0 }]);
    const odd = [...named, { path: '', czxid: 0, mzxid: 0 }, { path: '/a//b', czxid: 1, mzxid: 1 }];
    expect(solo.removeUnused(odd)).toEqual([{ type: 'unusedRemoved', nodes: 0 }]);
    expect(solo.machine.counts.nodes).toBe(nodes);
  });

  it('may be a whole branch, the lowest first, and twice the same', () => {
    const { solo, session } = begin();
    session.createNode('/a', { container: true });
    session.createNode('/a/b', { ttlMs: 5 });
    const [a, b] = [unused(solo, '/a'), unused(solo, '/a/b')];
    expect(solo.removeUnused([a, b, b, a, a])).toEqual([{ type: 'unusedRemoved', nodes: 2 }]);
  });
});

describe('data', () => {
  it('may be missing, which is told apart from empty ones', () => {
    const { solo, session } = begin();
    const noData = (path: string): boolean => solo.ask({ type: 'get', path }).traits?.noData ?? false;
    session.createNode('/none');
    session.createNode('/empty', { data: '' });
    expect([noData('/none'), noData('/empty')]).toEqual([true, false]);
    const before = solo.machine.counts.dataBytes;
    session.set('/none', '');
    expect([noData('/none'), solo.machine.counts.dataBytes < before]).toEqual([false, true]);
    for (const data of [undefined, 'x', undefined, '']) session.done([operation.set('/empty', data)]);
    expect(noData('/empty')).toBe(false);
    asReply(session.send({ type: 'setNode', path: '/empty', data: [], version: 4 }), 'changed');
    expect(noData('/empty')).toBe(true);
    expect(solo.ask({ type: 'get', path: '/empty' }).stat).toMatchObject({ version: 5, dataLength: 0 });
  });
});

describe('kinds and missing data', () => {
  it('are in snapshots, and a restored machine goes on alike', () => {
    const { solo, session } = begin();
    session.createNode('/c', { container: true });
    session.createNode('/t', { ttlMs: 77 });
    session.made('/c/x');
    session.delete('/c/x');
    const other = new Solo();
    restore(bytesOf(solo.machine), solo.index, other.machine);
    expect([...other.machine.withLifetime()].length).toBe(2);
    const named = [unused(solo, '/c'), unused(solo, '/t')];
    for (const each of [solo, other]) expect(each.removeUnused(named)).toEqual([{ type: 'unusedRemoved', nodes: 2 }]);
    expect(other.machine.digest).toBe(solo.machine.digest);
    expect([...solo.machine.withLifetime(), ...other.machine.withLifetime()]).toEqual([]);
  });

  it('cost a plain node nothing in a snapshot', () => {
    const { solo, session } = begin();
    const before = bytesOf(solo.machine).length;
    session.made('/a', { data: 'x' });
    // The record of a node: its head, its fields, its name, its data; and an answer that is remembered.
    expect(bytesOf(solo.machine).length - before).toBeLessThan(5 + 86 + 1 + 1 + 100);
    expect(copyOf(solo.machine).counts).toEqual(solo.machine.counts);
  });

  it.each([
    ['a lifetime of no kind', Uint8Array.of(3)],
    ['a time to live of 0 ms', Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0)],
    ['a time to live that is negative', Uint8Array.from([2, ...new Uint8Array(new Float64Array([-5]).buffer)])],
  ])('%s is refused', (_, wrong) => {
    const { solo, session } = begin();
    session.createNode('/t', { ttlMs: 5, data: 'x' });
    const from = bytesOf(solo.machine);
    const right = Uint8Array.from([2, ...new Uint8Array(new Float64Array([5]).buffer)]);
    const at = Buffer.from(from).indexOf(right);
    const changed = from.slice();
    changed.set(wrong, at);
    if (wrong.length < right.length)
      changed.set(new Uint8Array(right.length - wrong.length).fill(9), at + wrong.length);
    expect(() => restore(changed, solo.index, new StateMachine())).toThrow('has an extra 2 of the node in slot');
  });
});
