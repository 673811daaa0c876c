import { describe, expect, it } from 'vitest';

import { CreateMode, MAX_EARLY_PATH_LENGTH, MAX_PATH_LENGTH, type Stat } from '@holdfast/protocol';
import { LATEST_STATE_VERSION } from '@holdfast/state';

import { asReply, bytes, codeOf, Solo, text } from '../support/solo.ts';

function statOf(solo: Solo, path: string): Stat {
  const { stat } = solo.ask({ type: 'exists', path });
  if (stat === undefined) throw new Error(`${path} does not exist`);
  return stat;
}

describe('a node that is created', () => {
  it('has the index of its entry in czxid, mzxid and pzxid, and counts with its parent', () => {
    const solo = new Solo();
    const session = solo.open();
    solo.wallMs = 2_000_000;
    const reply = asReply(session.create('/a', { data: 'hello' }), 'created');
    const index = solo.index;
    expect(reply).toEqual({
      type: 'created',
      path: '/a',
      stat: {
        czxid: index,
        mzxid: index,
        pzxid: index,
        ctime: 2_000_000,
        mtime: 2_000_000,
        version: 0,
        cversion: 0,
        aversion: 0,
        ephemeralOwner: 0,
        dataLength: 5,
        numChildren: 0,
      },
    });
    expect(statOf(solo, '/')).toMatchObject({ pzxid: index, numChildren: 2, mzxid: 0 });
    expect(text(solo.ask({ type: 'get', path: '/a' }).data)).toBe('hello');
  });

  it('keeps its data when the bytes of the entry change afterwards', () => {
    const solo = new Solo();
    const session = solo.open();
    const entry = session.entry({ type: 'create', path: '/a', data: bytes('hello'), mode: CreateMode.persistent }, 1);
    solo.apply(entry);
    entry.fill(0);
    expect(text(solo.ask({ type: 'get', path: '/a' }).data)).toBe('hello');
  });

  it('in a series gets the number of children ever created there, plain ones counted, failures not', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/d');
    session.made('/d/plain');
    expect(session.made('/d/s-', { sequential: true })).toBe('/d/s-0000000001');
    session.delete('/d/s-0000000001');
    expect(codeOf(session.create('/d/plain'))).toBe('NODE_EXISTS');
    expect(session.made('/d/s-', { sequential: true })).toBe('/d/s-0000000002');
    expect(session.made('/d/', { sequential: true })).toBe('/d/0000000003');
    expect(session.made('/d/t', { sequential: true, ephemeral: true })).toBe('/d/t0000000004');
  });

  it('as ephemeral belongs to its session and has no children', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/e', { ephemeral: true });
    expect(statOf(solo, '/e').ephemeralOwner).toBe(session.id);
    expect(codeOf(session.create('/e/child'))).toBe('EPHEMERAL_PARENT');
    expect(statOf(solo, '/e')).toMatchObject({ cversion: 0, numChildren: 0 });
  });
});

describe('create', () => {
  it('checks the parent before the name, the name before existence, existence before an ephemeral parent', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a');
    session.made('/e', { ephemeral: true });
    const cases: [string, string][] = [
      ['/x/./b', 'NOT_FOUND'],
      ['/a//b', 'NOT_FOUND'],
      ['/a/x/', 'NOT_FOUND'],
      ['/a/', 'INVALID_ARGUMENT'],
      ['/a/.', 'INVALID_ARGUMENT'],
      ['/a/..', 'INVALID_ARGUMENT'],
      ['/a/\u0007', 'INVALID_ARGUMENT'],
      ['/e/.', 'INVALID_ARGUMENT'],
      ['a', 'INVALID_ARGUMENT'],
      ['', 'INVALID_ARGUMENT'],
      ['/a', 'NODE_EXISTS'],
      ['/', 'NODE_EXISTS'],
      ['/e/x', 'EPHEMERAL_PARENT'],
      ['/missing/x', 'NOT_FOUND'],
    ];
    for (const [path, code] of cases) expect(codeOf(session.create(path)), path).toBe(code);
    expect(solo.machine.counts.nodes).toBe(5);
  });

  it('refuses a sequential path that its number makes too long to be read', () => {
    const solo = new Solo().raise();
    const session = solo.open();
    const path = `/${'x'.repeat(MAX_PATH_LENGTH - 5)}`;
    expect(codeOf(session.create(path, { sequential: true }))).toBe('INVALID_ARGUMENT');
    expect(session.made(path)).toBe(path);
    expect(codeOf(solo.query({ type: 'exists', path }))).toBe('no error but exists');
  });

  it.each([2, LATEST_STATE_VERSION])('takes paths of as many characters as state version %i has', (version) => {
    const solo = new Solo().raise(version);
    const session = solo.open();
    const longest = version === 2 ? MAX_EARLY_PATH_LENGTH : MAX_PATH_LENGTH;
    const path = `/${'x'.repeat(longest - 1)}`;
    expect(session.made(path)).toBe(path);
    expect(codeOf(session.set(path, 'x'))).toBe('no error but changed');
    for (const reply of [session.create(`${path}x`), session.set(`${path}x`, ''), session.delete(`${path}x`)])
      expect(asReply(reply, 'error')).toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(`path must be at most ${longest} characters long`) as string,
      });
    const get = asReply(solo.query({ type: 'get', path: `/${'y'.repeat(1_024)}` }) as never, 'error');
    expect(get.code).toBe(version === 2 ? 'INVALID_ARGUMENT' : 'NOT_FOUND');
    expect(codeOf(session.delete(path))).toBe('no error but done');
  });

  it('refuses U+0000 before it looks for the parent, as ZooKeeper does, from state version 3 on', () => {
    const [early, session] = [new Solo().raise(2).open(), new Solo().raise().open()];
    expect(codeOf(early.create('/no/x\0'))).toBe('NOT_FOUND');
    expect(codeOf(session.create('/no/x\0'))).toBe('INVALID_ARGUMENT');
    expect(codeOf(session.create('/no\0/x'))).toBe('INVALID_ARGUMENT');
    expect(codeOf(session.create('/no/x\u0001'))).toBe('NOT_FOUND');
  });

  it('says what is wrong with a path, and with which', () => {
    const reply = asReply(new Solo().open().create('/..'), 'error');
    expect(reply.message).toMatch(/^invalid path: .+: "\/\.\."$/);
  });

  it('explains itself in messages that a reader takes, whatever the path', () => {
    const solo = new Solo().raise();
    const reply = asReply(solo.open().create(`/${'\u0001'.repeat(MAX_PATH_LENGTH - 1)}`), 'error');
    expect(reply.code).toBe('INVALID_ARGUMENT');
    expect(reply.message.length).toBeLessThanOrEqual(2_000);
  });
});

describe('set', () => {
  it('moves version, mzxid and mtime, and nothing else', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a', { data: 'old' });
    const before = statOf(solo, '/a');
    solo.wallMs += 5;
    const reply = asReply(session.set('/a', 'newer'), 'changed');
    expect(reply.stat).toEqual({
      ...before,
      mzxid: solo.index,
      mtime: before.mtime + 5,
      version: 1,
      dataLength: 5,
    });
    expect(statOf(solo, '/').pzxid).toBe(before.czxid);
  });

  it('counts as a change with the same data, too', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a', { data: 'x' });
    session.set('/a', 'x');
    expect(asReply(session.set('/a', 'x'), 'changed').stat.version).toBe(2);
  });

  it('with a version happens only at that version', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a', { data: 'x' });
    expect(codeOf(session.set('/a', 'y', 1))).toBe('BAD_VERSION');
    expect(asReply(session.set('/a', 'y', 0), 'changed').stat.version).toBe(1);
    expect(codeOf(session.set('/a', 'z', 0))).toBe('BAD_VERSION');
    expect(text(solo.ask({ type: 'get', path: '/a' }).data)).toBe('y');
  });

  it('of what does not exist, or is no path, says so', () => {
    const session = new Solo().open();
    expect(codeOf(session.set('/none', ''))).toBe('NOT_FOUND');
    expect(codeOf(session.set('none', ''))).toBe('INVALID_ARGUMENT');
  });

  it('works on the root', () => {
    const session = new Solo().open();
    expect(asReply(session.set('/', 'top'), 'changed').stat.version).toBe(1);
  });
});

describe('delete', () => {
  it('checks existence, then the version, then children', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a');
    session.made('/a/b');
    expect(codeOf(session.delete('/none', 5))).toBe('NOT_FOUND');
    expect(codeOf(session.delete('/a', 5))).toBe('BAD_VERSION');
    expect(codeOf(session.delete('/a', 0))).toBe('NOT_EMPTY');
    expect(session.delete('/a/b', 0)).toEqual({ type: 'done' });
    expect(session.delete('/a')).toEqual({ type: 'done' });
    expect(codeOf(session.delete('/a'))).toBe('NOT_FOUND');
  });

  it('counts with the parent and moves its pzxid', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/a');
    session.made('/a/b');
    session.delete('/a/b');
    expect(statOf(solo, '/a')).toMatchObject({ pzxid: solo.index, cversion: 2, numChildren: 0, version: 0 });
  });

  it('refuses the root and what is no path', () => {
    const session = new Solo().open();
    expect(codeOf(session.delete('/'))).toBe('INVALID_ARGUMENT');
    expect(codeOf(session.delete('/a/'))).toBe('INVALID_ARGUMENT');
    expect(codeOf(session.delete('a'))).toBe('INVALID_ARGUMENT');
  });

  it('of an ephemeral node by another session leaves nothing to clean up when its own ends', () => {
    const solo = new Solo();
    const [a, b] = [solo.open(), solo.open()];
    a.made('/e', { ephemeral: true });
    b.delete('/e');
    b.made('/e', { data: 'mine' });
    a.close();
    expect(statOf(solo, '/e')).toMatchObject({ ephemeralOwner: 0, dataLength: 4 });
  });
});

describe('time in the tree', () => {
  it('never goes back, whatever the clock of a new leader says, and only shows', () => {
    const solo = new Solo();
    const session = solo.open();
    solo.wallMs = 5_000_000;
    session.made('/a');
    solo.wallMs = 1_000;
    session.made('/b');
    expect(statOf(solo, '/b').ctime).toBe(5_000_000);
    solo.wallMs = NaN;
    session.made('/c');
    solo.wallMs = 5_000_001;
    session.made('/d');
    expect([statOf(solo, '/c').ctime, statOf(solo, '/d').ctime]).toEqual([5_000_000, 5_000_001]);
  });
});

describe('the limits of the tree', () => {
  it('bound the number of nodes', () => {
    const solo = new Solo({ maxNodes: 4 });
    const session = solo.open();
    session.made('/a');
    expect(codeOf(session.create('/b'))).toBe('LIMIT_EXCEEDED');
    session.delete('/a');
    expect(session.made('/b')).toBe('/b');
  });

  it('bound the data of all nodes, and let data shrink', () => {
    const solo = new Solo({ maxTreeDataBytes: 10 });
    const session = solo.open();
    session.made('/a', { data: '12345678' });
    expect(codeOf(session.create('/b', { data: '123' }))).toBe('LIMIT_EXCEEDED');
    expect(codeOf(session.set('/a', '12345678901'))).toBe('LIMIT_EXCEEDED');
    session.set('/a', '1');
    session.made('/b', { data: '123456789' });
    expect(solo.machine.counts.dataBytes).toBe(10);
    session.delete('/a');
    expect(solo.machine.counts.dataBytes).toBe(9);
  });
});
