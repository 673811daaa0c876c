import { CommandType, MAX_TRANSACTION_BYTES, pack, type Operation, type Packable } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { copyOf } from '../support/snapshots.ts';
import { all, asReply, bytes, codeOf, only, operation, Solo, text, type SoloSession } from '../support/solo.ts';

const { check, create, set, delete: remove } = operation;

function begin(): { solo: Solo; session: SoloSession } {
  const solo = new Solo().raise();
  return { solo, session: solo.open() };
}

describe('a transaction', () => {
  it('does all of its operations at one index, each seeing those before it', () => {
    const { solo, session } = begin();
    const reply = session.transaction([
      create('/a', { data: 'one' }),
      check('/a', 0),
      create('/a/s-', { sequential: true, ephemeral: true }),
      create('/a/s-', { sequential: true }),
      set('/a', 'two', 0),
      set('/a', 'three', 1),
      remove('/a/s-0000000001', 0),
    ]);
    expect(reply).toEqual({ type: 'transaction', index: solo.index, results: [0, 0, 0, 1, 1, 2, 0] });
    const { data, stat } = solo.ask({ type: 'get', path: '/a' });
    expect(text(data)).toBe('three');
    const at = solo.index;
    expect(stat).toMatchObject({ czxid: at, mzxid: at, pzxid: at, version: 2, cversion: 3, numChildren: 1 });
    expect(solo.ask({ type: 'children', path: '/a' }).names).toEqual(['s-0000000000']);
  });

  it('of which one operation fails does nothing, uses no number, and says which, why and what', () => {
    const { solo, session } = begin();
    session.made('/a');
    const before = solo.ask({ type: 'exists', path: '/a' }).stat;
    const counts = solo.machine.counts;
    const reply = session.transaction([
      create('/a/s-', { sequential: true }),
      set('/a', 'x'),
      check('/a', 7),
      create('/b'),
    ]);
    expect(reply).toMatchObject({ type: 'transactionFailed', operation: 2, code: 'BAD_VERSION' });
    expect(asReply(reply, 'transactionFailed').message).toBe('/a has version 1, not 7; read it again');
    expect(solo.machine.counts).toEqual(counts);
    expect(solo.ask({ type: 'exists', path: '/a' }).stat).toEqual(before);
    expect(session.made('/a/s-', { sequential: true })).toBe('/a/s-0000000000');
  });

  it('may be empty', () => {
    const { session } = begin();
    expect(session.done([])).toEqual([]);
  });

  it('is answered again as it was, whatever has happened since', () => {
    const { solo, session } = begin();
    const operations = [create('/s-', { sequential: true })];
    const reply = session.transaction(operations);
    session.delete('/s-0000000001');
    expect(session.resend(1, { type: 'transaction', operations })).toEqual(reply);
    const copy = new Solo();
    Object.assign(copy, { machine: copyOf(solo.machine) });
    expect(session.in(copy).resend(1, { type: 'transaction', operations })).toEqual(reply);
  });

  it('revokes locks by their queue nodes, and grants on', () => {
    const { solo, session } = begin();
    const other = solo.open();
    const held = session.acquire('lock');
    const waits = other.acquire('lock');
    const path = '/holdfast/locks/lock/q-0000000000';
    session.done([check(path), create('/seen'), remove(path)]);
    expect(only(solo.outputs, 'lost')).toMatchObject({ session: session.id, acquireIndex: held.acquireIndex });
    expect(only(solo.outputs, 'granted')).toMatchObject({ acquireIndex: waits.acquireIndex, token: solo.index });
  });

  it('grants when all that it revokes are gone, so that nobody holds under the token of the next (a token was given twice)', () => {
    const { solo, session } = begin();
    const [second, third] = [solo.open(), solo.open()];
    session.acquire('lock');
    const revoked = second.acquire('lock');
    const waits = third.acquire('lock');
    session.done([remove('/holdfast/locks/lock/q-0000000000'), remove('/holdfast/locks/lock/q-0000000001')]);
    expect(all(solo.outputs, 'granted')).toEqual([
      { type: 'granted', session: third.id, lock: 'lock', acquireIndex: waits.acquireIndex, token: solo.index },
    ]);
    expect(all(solo.outputs, 'lost').map(({ acquireIndex }) => acquireIndex)).toContain(revoked.acquireIndex);
  });

  it('may hang on a hold: the check of a queue node fails when the hold is gone', () => {
    const { session } = begin();
    const held = session.acquire('lock');
    const operations = [check('/holdfast/locks/lock/q-0000000000'), create('/done-', { sequential: true })];
    expect(session.done(operations)).toEqual([0, 1]);
    session.release(held);
    expect(session.transaction(operations)).toMatchObject({ operation: 0, code: 'NOT_FOUND' });
  });

  it.each<[string, number, Operation]>([
    ['INVALID_ARGUMENT', 0, create('a')],
    ['INVALID_ARGUMENT', 0, create('/no/\0')],
    ['INVALID_ARGUMENT', 0, { ...create('/a'), mode: 5 } as Operation],
    ['INVALID_ARGUMENT', 0, { ...create('/a'), ttlMs: 5 } as Operation],
    ['INVALID_ARGUMENT', 0, { ...create('/a'), mode: 6, ttlMs: 2 ** 40 } as Operation],
    ['UNSUPPORTED', 0, { ...create('/a'), mode: 9 } as Operation],
    ['INVALID_ARGUMENT', 0, create('/full/')],
    ['INVALID_ARGUMENT', 0, set('/a//b', '')],
    ['INVALID_ARGUMENT', 0, check('/..')],
    ['INVALID_ARGUMENT', 0, remove('/')],
    ['NOT_FOUND', 0, remove('/no')],
    ['NOT_FOUND', 0, create('/no/a')],
    ['NODE_EXISTS', 0, create('/')],
    ['RESERVED_PATH', 0, create('/holdfast/a')],
    ['RESERVED_PATH', 0, set('/holdfast/locks', '')],
    ['RESERVED_PATH', 0, remove('/holdfast/locks')],
    ['NOT_EMPTY', 0, remove('/full')],
    ['EPHEMERAL_PARENT', 0, create('/ephemeral/a')],
  ])('is refused with %s because of operation %i: %j', (code, at, wrong) => {
    const { session } = begin();
    session.made('/full');
    session.made('/full/x');
    session.made('/ephemeral', { ephemeral: true });
    expect(session.transaction([wrong])).toMatchObject({ type: 'transactionFailed', operation: at, code });
    expect(session.transaction([check('/full'), check('/full/x'), wrong])).toMatchObject({ operation: 2, code });
  });

  it('with an operation of a later version is UNSUPPORTED there, and with a malformed one refused as a whole', () => {
    const { solo, session } = begin();
    const send = (operations: readonly Packable[]) => {
      session.number += 1;
      const entry = session.rawEntry(CommandType.transaction, pack([operations]), session.number);
      return only(solo.apply(entry), 'reply').reply;
    };
    expect(
      send([
        [1, '/', -1],
        [9, 'later', 5],
      ]),
    ).toMatchObject({
      type: 'transactionFailed',
      operation: 1,
      code: 'UNSUPPORTED',
    });
    expect(codeOf(send([[1, '/']]))).toBe('INVALID_ARGUMENT');
    expect(codeOf(send([[1, '/', -1, 5]]))).toBe('INVALID_ARGUMENT');
    expect(
      codeOf(
        send([
          [4, '/no', -1],
          [1, '/'],
        ]),
      ),
    ).toBe('INVALID_ARGUMENT');
    expect(
      codeOf(
        send([
          [9, 'later', 5],
          [1, '/'],
        ]),
      ),
    ).toBe('INVALID_ARGUMENT');
    expect(
      codeOf(
        send([
          [2, '/made', [], 0, 0],
          [1, '/'],
        ]),
      ),
    ).toBe('INVALID_ARGUMENT');
    expect(solo.ask({ type: 'exists', path: '/made' }).stat).toBeUndefined();
  });

  it('is UNSUPPORTED before state version 3', () => {
    const session = new Solo().raise(2).open();
    expect(codeOf(session.transaction([]))).toBe('UNSUPPORTED');
    expect(codeOf(session.createNode('/a'))).toBe('UNSUPPORTED');
    expect(codeOf(session.send({ type: 'setNode', path: '/a', data: [], version: 0 }))).toBe('UNSUPPORTED');
  });

  it('keeps to the limits of the tree with all that it adds', () => {
    const session = new Solo({ maxNodes: 6, maxTreeDataBytes: 20, maxEphemeralsPerSession: 1 }).raise().open();
    expect(session.transaction(['/a', '/b', '/c', '/d'].map((path) => create(path, { data: '' })))).toMatchObject({
      operation: 3,
      code: 'LIMIT_EXCEEDED',
    });
    expect(
      session.transaction([create('/a', { data: 'x'.repeat(15) }), create('/b', { data: 'x'.repeat(6) })]),
    ).toMatchObject({ operation: 1, code: 'LIMIT_EXCEEDED' });
    const ephemeral = { ephemeral: true, data: '' };
    expect(session.transaction([create('/a', ephemeral), create('/b', ephemeral)])).toMatchObject({
      operation: 1,
      code: 'LIMIT_EXCEEDED',
    });
    // What goes makes room for what comes.
    session.done([create('/a', ephemeral), remove('/a'), create('/b', ephemeral)]);
  });
});

describe('the size of a transaction', () => {
  it('is bounded by its bytes', () => {
    const { session } = begin();
    const operations = (length: number): Operation[] => [
      create('/a'),
      { ...set('/a'), data: [new Uint8Array(length)] } as Operation,
    ];
    expect(codeOf(session.transaction(operations(MAX_TRANSACTION_BYTES)))).toBe('LIMIT_EXCEEDED');
    expect(session.done(operations(MAX_TRANSACTION_BYTES - 100))).toEqual([0, 1]);
  });

  it('leaves room for 100,000 operations, and what they answer is bounded for all sessions together', () => {
    const { solo, session } = begin();
    session.made('/a');
    const operations = Array.from({ length: 100_000 }, () => check('/a', 0));
    session.done(operations);
    expect(codeOf(session.transaction(operations))).toBe('OVERLOADED');
    session.ackedUpTo = session.number;
    session.done(operations);
    const limited = new Solo({ maxReplyBytes: 200_000 }).raise();
    for (let n = 0; n < 200; n += 1) limited.open().transaction(Array.from({ length: 1_000 }, () => check('/')));
    expect(limited.machine.replyBytes).toBeLessThan(250_000);
    // A small one is taken at any time.
    expect(solo.open().done([check('/a')])).toEqual([0]);
  });
});

describe('several ephemeral nodes of one transaction', () => {
  it('go in one order on every machine, also when they are too many for one entry', () => {
    const solo = new Solo({ maxNodesPerEnd: 2 }).raise();
    const session = solo.open();
    for (const parent of ['/a', '/b']) session.made(parent);
    const paths = ['/b/x', '/a/x', '/b/a', '/a/b', '/b/c'];
    session.done(paths.map((path) => create(path, { ephemeral: true })));
    // Some go and come back: their places in the set of a machine that was not restored are others.
    session.done([remove('/b/x'), create('/a/z', { ephemeral: true }), create('/b/x', { ephemeral: true })]);
    const restored = new Solo({ maxNodesPerEnd: 2 });
    Object.assign(restored, { machine: copyOf(solo.machine, { maxNodesPerEnd: 2 }) });
    for (const each of [solo, restored]) each.expire(session.id);
    const left = (each: Solo): string[][] =>
      ['/a', '/b'].map((path) => [...each.ask({ type: 'children', path }).names]);
    expect(left(restored)).toEqual(left(solo));
    expect(restored.machine.digest).toBe(solo.machine.digest);
  });
});

describe('very many ephemeral nodes of one transaction', () => {
  it('go in one order, slice by slice, whatever slots they have', () => {
    const solo = new Solo({ maxNodesPerEnd: 2 }).raise();
    const other = solo.open();
    // Slots that were left are used again, the last one first.
    const paths = Array.from({ length: 300 }, (_, n) => `/n${n}`);
    other.done(paths.map((path) => create(path)));
    other.done(paths.map((path) => remove(path)));
    const session = solo.open();
    session.done(paths.map((path) => create(path, { ephemeral: true })));
    const restored = new Solo({ maxNodesPerEnd: 2 });
    Object.assign(restored, { machine: copyOf(solo.machine, { maxNodesPerEnd: 2 }) });
    const gone = (each: Solo): readonly string[] => {
      const left = new Set(each.ask({ type: 'children', path: '/' }).names);
      return paths.filter((path) => !left.has(path.slice(1)));
    };
    for (const each of [solo, restored]) each.expire(session.id);
    // The slots that are used first are those that were left last.
    expect(gone(solo)).toEqual(['/n298', '/n299']);
    expect(gone(restored)).toEqual(gone(solo));
  });
});

describe('data of a transaction', () => {
  it('are copied', () => {
    const { solo, session } = begin();
    const entry = session.entry({ type: 'transaction', operations: [create('/a', { data: 'hello' })] }, 1);
    solo.apply(entry);
    entry.fill(0);
    expect(solo.ask({ type: 'get', path: '/a' }).data).toEqual(bytes('hello'));
  });
});
