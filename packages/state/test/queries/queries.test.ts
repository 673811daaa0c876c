import { describe, expect, it } from 'vitest';

import { MAX_FRAME_BYTES, MAX_PAGE_ENTRIES, answers, pack, replies } from '@holdfast/protocol';

import { acquireCommand, codeOf, Solo, text } from '../support/solo.ts';

describe('reading nodes', () => {
  it('tells data, stat and the names of children in order', () => {
    const solo = new Solo();
    const session = solo.open();
    session.made('/d', { data: 'x' });
    for (const name of ['b', 'a', 'B', 'ä', 'a0', '10', '9']) session.made(`/d/${name}`);
    const got = solo.ask({ type: 'get', path: '/d' });
    expect(text(got.data)).toBe('x');
    expect(got.stat.numChildren).toBe(7);
    const { names, stat } = solo.ask({ type: 'children', path: '/d' });
    expect(names).toEqual(['10', '9', 'B', 'a', 'a0', 'b', 'ä']);
    expect(stat).toEqual(got.stat);
  });

  it('of what does not exist is NOT_FOUND, but for exists, which says so', () => {
    const solo = new Solo();
    expect(codeOf(solo.query({ type: 'get', path: '/none' }))).toBe('NOT_FOUND');
    expect(codeOf(solo.query({ type: 'children', path: '/none' }))).toBe('NOT_FOUND');
    expect(solo.ask({ type: 'exists', path: '/none' }).stat).toBeUndefined();
  });

  it('of what is no path is INVALID_ARGUMENT with the reason', () => {
    const solo = new Solo();
    for (const type of ['get', 'exists', 'children'] as const) {
      const answer = solo.query({ type, path: '/a//b' });
      expect(codeOf(answer)).toBe('INVALID_ARGUMENT');
      expect(answer.type === 'error' && answer.message).toContain('empty component');
    }
  });

  it('refuses to list more children than an answer may carry', () => {
    const solo = new Solo({ maxChildrenBytes: 60 });
    const session = solo.open();
    session.made('/d');
    for (const name of ['aaaaa', 'bbbbb', 'ccccc', 'ddddd']) session.made(`/d/${name}`);
    expect(solo.ask({ type: 'children', path: '/d' }).names).toHaveLength(4);
    session.made(`/d/${'e'.repeat(20)}`);
    expect(codeOf(solo.query({ type: 'children', path: '/d' }))).toBe('LIMIT_EXCEEDED');
    for (let extra = 0; extra < 20; extra += 1) session.made(`/d/${extra}`);
    expect(codeOf(solo.query({ type: 'children', path: '/d' }))).toBe('LIMIT_EXCEEDED');
  });
});

describe('reading locks', () => {
  it('verify tells the token of a hold and 0 of anything else', () => {
    const solo = new Solo();
    const [a, b] = [solo.open(), solo.open()];
    const held = a.acquire('l');
    const waiting = b.acquire('l');
    const token = (lock: string, acquireIndex: number): number =>
      solo.ask({ type: 'verify', lock, acquireIndex }).token;
    expect(token('l', held.acquireIndex)).toBe(held.token);
    expect(token('l', waiting.acquireIndex)).toBe(0);
    expect(token('m', held.acquireIndex)).toBe(0);
    a.release(held);
    expect(token('l', held.acquireIndex)).toBe(0);
    expect(token('l', waiting.acquireIndex)).toBe(solo.index);
    expect(codeOf(solo.query({ type: 'verify', lock: '', acquireIndex: 1 }))).toBe('INVALID_ARGUMENT');
  });

  it('lock tells the queue in order, with labels, since when each waits and when it was granted', () => {
    const solo = new Solo();
    const [a, b] = [solo.open('worker a'), solo.open('worker b')];
    solo.wallMs = 2_000_000;
    const held = a.acquire('l');
    solo.wallMs = 3_000_000;
    const waiting = b.acquire('l');
    expect(solo.ask({ type: 'lock', lock: 'l' }).queue).toEqual([
      { session: a.id, label: 'worker a', ...without(held), since: 2_000_000, grantedAt: 2_000_000, parameters: [] },
      { session: b.id, label: 'worker b', ...without(waiting), since: 3_000_000, grantedAt: 0, parameters: [] },
    ]);
    solo.wallMs = 4_000_000;
    a.release(held);
    expect(solo.ask({ type: 'lock', lock: 'l' }).queue).toMatchObject([
      { session: b.id, token: solo.index, since: 3_000_000, grantedAt: 4_000_000 },
    ]);
  });

  it('lock of a name that no lock can have is INVALID_ARGUMENT, and of one that is free an empty queue', () => {
    const solo = new Solo();
    expect(codeOf(solo.query({ type: 'lock', lock: '' }))).toBe('INVALID_ARGUMENT');
    expect(solo.query({ type: 'lock', lock: 'free' })).toMatchObject({ type: 'lock', queue: [], truncated: false });
  });

  it('lock cuts a long queue to a page and says so', () => {
    const solo = new Solo();
    const session = solo.open();
    session.acquire('l');
    for (let waiting = 0; waiting < MAX_PAGE_ENTRIES; waiting += 1) {
      session.ackedUpTo = session.number;
      session.acquire('l');
    }
    const answer = solo.ask({ type: 'lock', lock: 'l' });
    expect(answer.queue).toHaveLength(MAX_PAGE_ENTRIES);
    expect(answer.truncated).toBe(true);
    session.cancel({ lock: 'l', acquireIndex: solo.index, token: 0 });
    expect(solo.ask({ type: 'lock', lock: 'l' }).truncated).toBe(false);
  });

  it('locks come by name in pages, by prefix', () => {
    const solo = new Solo();
    const [a, b] = [solo.open(), solo.open()];
    for (const name of ['b/2', 'a', 'b/1', 'c', 'b/3', 'B']) a.acquire(name);
    b.acquire('b/1');
    const page = (prefix: string, after: string, limit: number): [string[], boolean] => {
      const answer = solo.ask({ type: 'locks', prefix, after, limit });
      return [answer.locks.map(({ lock }) => lock), answer.more];
    };
    expect(page('', '', 100)).toEqual([['B', 'a', 'b/1', 'b/2', 'b/3', 'c'], false]);
    expect(page('b/', '', 2)).toEqual([['b/1', 'b/2'], true]);
    expect(page('b/', 'b/2', 2)).toEqual([['b/3'], false]);
    expect(page('', 'b/3', 1)).toEqual([['c'], false]);
    expect(page('zzz', '', 1)).toEqual([[], false]);
    const [first] = solo.ask({ type: 'locks', prefix: 'b/1', after: '', limit: 1 }).locks;
    expect(first).toMatchObject({ lock: 'b/1', waiters: 1, holders: [{ session: a.id }] });
  });

  it('locks beyond a page are found page by page, each once', () => {
    const solo = new Solo();
    const session = solo.open();
    const names = Array.from({ length: 250 }, (_, n) => `lock-${(n * 7_919) % 250}`);
    for (const name of names) {
      session.ackedUpTo = session.number;
      session.acquire(name);
    }
    const seen: string[] = [];
    for (let more = true, pages = 0; more && pages < 100; pages += 1) {
      const answer = solo.ask({ type: 'locks', prefix: '', after: seen.at(-1) ?? '', limit: 7 });
      seen.push(...answer.locks.map(({ lock }) => lock));
      more = answer.more;
    }
    expect(seen).toEqual([...names].sort());
  });
});

describe('reading sessions', () => {
  it('tells what each has, by id, in pages, and never its secret', () => {
    const solo = new Solo();
    solo.wallMs = 9_000_000;
    const [a, b, c] = [solo.open('a'), solo.open('b'), solo.open('c')];
    a.acquire('l');
    a.acquire('m');
    b.acquire('l');
    b.made('/e', { ephemeral: true });
    const first = solo.ask({ type: 'sessions', after: 0, limit: 2 });
    expect(first).toEqual({
      type: 'sessions',
      more: true,
      sessions: [
        { session: a.id, label: 'a', timeoutMs: 10_000, createdAt: 9_000_000, holds: 2, waits: 0, ephemerals: 0 },
        { session: b.id, label: 'b', timeoutMs: 10_000, createdAt: 9_000_000, holds: 0, waits: 1, ephemerals: 1 },
      ],
    });
    const second = solo.ask({ type: 'sessions', after: b.id, limit: 2 });
    expect([second.sessions.map(({ session }) => session), second.more]).toEqual([[c.id], false]);
  });
});

describe('the largest attach reply', () => {
  it('fits into a frame, whatever the names: acquires beyond it are refused', () => {
    const solo = new Solo();
    const session = solo.open();
    let count = 0;
    let refusal = '';
    for (; refusal === ''; count += 1) {
      session.ackedUpTo = session.number;
      const reply = session.send(acquireCommand(`${count}`.padEnd(256, '\u4e2d')));
      if (reply.type === 'error') refusal = reply.code;
    }
    expect(refusal).toBe('LIMIT_EXCEEDED');
    const attached = session.attachAgain();
    expect(attached.acquires).toHaveLength(count - 1);
    expect(pack(replies.writeTuple(attached)).length).toBeLessThan(MAX_FRAME_BYTES - 512 * 1024);
  });
});

describe('the largest page', () => {
  it('fits into a frame', () => {
    const solo = new Solo();
    for (let count = 0; count <= MAX_PAGE_ENTRIES; count += 1) {
      const session = solo.open('\u4e2d'.repeat(256));
      session.acquire(`${count}`.padEnd(256, 'x'));
    }
    const locks = solo.ask({ type: 'locks', prefix: '', after: '', limit: Number.MAX_SAFE_INTEGER });
    expect([locks.locks.length, locks.more]).toEqual([MAX_PAGE_ENTRIES, true]);
    expect(pack(answers.writeTuple(locks)).length).toBeLessThan(MAX_FRAME_BYTES / 2);
    const sessions = solo.ask({ type: 'sessions', after: 0, limit: 0 });
    expect([sessions.sessions.length, sessions.more]).toEqual([1, true]);
  });
});

function without({ acquireIndex, token }: { acquireIndex: number; token: number }): object {
  return { acquireIndex, token };
}
