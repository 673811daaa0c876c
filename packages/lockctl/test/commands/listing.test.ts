import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;
const run = (...args: string[]) => runLockctl(args, outside);
const cells = () =>
  outside.output
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/\s{2,}/));

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
});

const holder = { session: 5, label: 'worker 1', token: 41, acquireIndex: 41, since: 970_000, grantedAt: 980_000 };
const waiter = { session: 6, label: '', token: 0, acquireIndex: 44, since: 995_000, grantedAt: 0 };

describe('locks', () => {
  it('shows holder, token, since and waiters of each', async () => {
    client.summaries = [{ lock: 'accounts/42', holders: [holder], waiters: 3 }];
    expect(await run('locks', 'acc')).toBe(0);
    expect(client.calls).toEqual([['locks', 'acc']]);
    expect(cells()).toEqual([
      ['LOCK', 'TOKEN', 'SESSION', 'HOLDER', 'HELD', 'WAITERS'],
      ['accounts/42', '41', '5', 'worker 1', '20s', '3'],
    ]);
  });

  it('shows the kinds where one is no mutex, and what its holder asked for', async () => {
    const shared = { ...holder, label: 'x', parameters: [1, 'blue sky', new Uint8Array([0xab]), [true]] };
    client.summaries = [
      { lock: 'a', holders: [holder], waiters: 0, kind: 0 },
      { lock: 'b', holders: [shared], waiters: 2, kind: 200 },
    ];
    await run('locks');
    expect(cells()).toEqual([
      ['LOCK', 'KIND', 'ASKED FOR', 'TOKEN', 'SESSION', 'HOLDER', 'HELD', 'WAITERS'],
      ['a', 'mutex', '41', '5', 'worker 1', '20s', '0'],
      ['b', '200 (of a later version)', '1, "blue sky", 0xab, [true]', '41', '5', 'x', '20s', '2'],
    ]);
  });

  it('shows who reads and who has permits, and a lock that nobody holds though somebody waits', async () => {
    const reader = { ...holder, parameters: [false] };
    client.summaries = [
      { lock: 'r', holders: [reader, reader], waiters: 1, kind: 1 },
      { lock: 's', holders: [{ ...holder, parameters: [2, 5] }], waiters: 0, kind: 2 },
      { lock: 'w', holders: [], waiters: 1, kind: 0 },
    ];
    await run('locks');
    const [header, ...rows] = outside.output.trimEnd().split('\n');
    expect(header?.split(/\s{2,}/).slice(0, 4)).toEqual(['LOCK', 'KIND', 'ASKED FOR', 'TOKEN']);
    expect(rows.map((row) => row.split(/\s{2,}/))).toEqual([
      ['r', 'read-write', 'read', '41', '5', 'worker 1', '20s', '1'],
      ['', 'read', '41', '5', 'worker 1', '20s'],
      ['s', 'semaphore', 'permits=2, limit=5', '41', '5', 'worker 1', '20s', '0'],
      ['w', 'mutex', '-', '-', '-', '1'],
    ]);
  });

  it('shows which are delayed, and for how long since when', async () => {
    const delay = { index: 50, delayMs: 5_000, since: 998_000, token: 41 };
    client.summaries = [
      { lock: 'a', holders: [holder], waiters: 0 },
      { lock: 'b', holders: [], waiters: 2, delay },
    ];
    await run('locks');
    expect(cells()).toEqual([
      ['LOCK', 'TOKEN', 'SESSION', 'HOLDER', 'HELD', 'WAITERS', 'DELAYED'],
      ['a', '41', '5', 'worker 1', '20s', '0'],
      ['b', '-', '-', '-', '2', '5s from 2s ago'],
    ]);
  });

  it('says so when there is none', async () => {
    await run('locks');
    expect(outside.output).toBe('No lock is held.\n');
  });

  it('is one JSON document for scripts', async () => {
    client.summaries = [{ lock: 'a', holders: [holder], waiters: 0 }];
    await run('locks', '--json');
    expect(JSON.parse(outside.output)).toEqual({ locks: client.summaries });
  });
});

describe('show', () => {
  it('lists the holder and the queue in order, with ages', async () => {
    client.holders = [holder];
    client.waiters = [waiter];
    expect(await run('show', 'accounts/42')).toBe(0);
    expect(outside.output).toBe(
      [
        '#  STATE  TOKEN  SESSION  LABEL     QUEUED  HELD  ACQUIRE',
        '1  holds  41     5        worker 1  30s     20s   41',
        '2  waits  -      6                  5s      -     44',
        '',
      ].join('\n'),
    );
  });

  it('says which kind it is where that is no mutex, and what each asked for', async () => {
    client.kind = 200;
    client.holders = [{ ...holder, label: 'x', parameters: ['\u{202e}read'] }];
    client.waiters = [waiter];
    await run('show', 'b');
    expect(outside.output).toBe(
      [
        'Kind: 200 (of a later version)',
        '#  STATE  ASKED FOR     TOKEN  SESSION  LABEL  QUEUED  HELD  ACQUIRE',
        String.raw`1  holds  "\u202eread"  41     5        x      30s     20s   41`,
        '2  waits                -      6               5s      -     44',
        '',
      ].join('\n'),
    );
  });

  it('shows who has asked a holder to release, when, and what comes then', async () => {
    const releaseRequest = { index: 50, askedAt: 995_000, withinMs: 30_000, revokes: true, by: 'ann' };
    client.holders = [{ ...holder, releaseRequest }];
    client.waiters = [waiter];
    await run('show', 'a');
    expect(cells()[0]?.at(-1)).toBe('REQUESTED');
    expect(cells()[1]?.at(-1)).toBe('5s ago by ann, within 30s, then revoked');
    client.holders = [{ ...holder, releaseRequest: { ...releaseRequest, by: '', revokes: false } }];
    outside.output = '';
    await run('show', 'a');
    expect(cells()[1]?.at(-1)).toBe('5s ago, within 30s, then left');
  });

  it('names the kind by its number for scripts', async () => {
    client.kind = 200;
    client.holders = [holder];
    await run('show', 'b', '--json');
    expect(JSON.parse(outside.output)).toMatchObject({ lock: 'b', kind: 200, holders: [holder] });
  });

  it('says that it is delayed, since which holder was lost, and what ends that', async () => {
    client.delay = { index: 50, delayMs: 2_500, since: 998_000, token: 41 };
    client.waiters = [waiter];
    await run('show', 'a');
    expect(outside.output).toContain(
      'Delayed: nobody is granted it for 2.5s from 2s ago, since its holder under token 41 was lost;\n',
    );
    expect(outside.output).toContain('"lockctl end-delay" ends it');
    expect(outside.output).toContain('waits');
  });

  it('tells programs of a delay', async () => {
    client.delay = { index: 50, delayMs: 2_500, since: 998_000, token: 41 };
    await run('show', 'a', '--json');
    expect(JSON.parse(outside.output)).toMatchObject({ lock: 'a', holders: [], delay: client.delay });
  });

  it('says so when nobody holds it', async () => {
    await run('show', 'idle');
    expect(outside.output).toBe('Nobody holds lock "idle" or waits for it.\n');
  });
});

describe('sessions', () => {
  it('shows what each holds', async () => {
    client.sessionSummaries = [
      { session: 5, label: 'x', timeoutMs: 10_000, createdAt: 0, holds: 1, waits: 2, ephemerals: 3 },
    ];
    expect(await run('sessions')).toBe(0);
    expect(cells()[1]).toEqual(['5', 'x', '16m', '10s', '1', '2', '3']);
  });

  it('can be closed by force', async () => {
    expect(await run('session', 'close', '5')).toBe(0);
    expect(client.calls).toEqual([['closeSession', 5]]);
    expect(outside.output).toContain('Session 5 is closed');
  });
});

describe('release', () => {
  it('takes a lock away from who holds it under that token, and says what its resource should be told', async () => {
    expect(await run('release', 'a', '--token', '0000000000000042')).toBe(0);
    expect(client.calls).toEqual([['revoke', 'a', 42, {}]]);
    expect(outside.output).toContain('Lock "a" is not held under token 42 any more');
    expect(outside.output).toContain('install token 60 at what the lock protects');
  });

  it('names one of several holds by its acquire index, and tells programs the token', async () => {
    expect(await run('release', 'a', '--token', '42', '--hold', '41', '--json')).toBe(0);
    expect(client.calls).toEqual([['revoke', 'a', 42, { hold: 41 }]]);
    expect(JSON.parse(outside.output)).toEqual({ released: 'a', token: 42, fence: 60 });
  });

  it('asks for it instead, within a time, and says what comes then', async () => {
    expect(await run('release', 'a', '--token', '42', '--ask')).toBe(0);
    expect(outside.output).toContain('"a" under token 42 is asked to release it within 30 s; then it stays');
    expect(await run('release', 'a', '--token', '42', '--ask', '--within', '2m', '--then', 'revoke')).toBe(0);
    expect(outside.output).toContain('within 120 s; then it is taken away');
    outside.output = '';
    expect(await run('release', 'a', '--token', '42', '--hold', '41', '--ask', '--json')).toBe(0);
    expect(JSON.parse(outside.output)).toEqual({ asked: 'a', token: 42, withinMs: 30_000, atDeadline: 'leave' });
    expect(client.calls).toEqual([
      ['requestRelease', 'a', 42, { withinMs: 30_000, atDeadline: 'leave' }],
      ['requestRelease', 'a', 42, { withinMs: 120_000, atDeadline: 'revoke' }],
      ['requestRelease', 'a', 42, { withinMs: 30_000, atDeadline: 'leave', hold: 41 }],
    ]);
  });

  it.each([
    ['without a token', ['release', 'a']],
    ['with a time for who is not asked', ['release', 'a', '--token', '42', '--within', '5s']],
    ['with a policy for who is not asked', ['release', 'a', '--token', '42', '--then', 'leave']],
    ['with a policy that there is not', ['release', 'a', '--token', '42', '--ask', '--then', 'kill']],
    ['with a token that is none', ['release', 'a', '--token', '0']],
    ['with a token that is no number', ['release', 'a', '--token', 'x']],
  ])('is refused %s, before anything is sent', async (_, args) => {
    expect(await run(...args)).toBe(2);
    expect(client.calls).toEqual([]);
  });
});

describe('end-delay', () => {
  it('ends the delay of a lock, and says what its resource should be told', async () => {
    expect(await run('end-delay', 'a')).toBe(0);
    expect(client.calls).toEqual([['endLockDelay', 'a']]);
    expect(outside.output).toContain('Lock "a" is not delayed any more');
    expect(outside.output).toContain('install token 61 at what the lock protects');
  });

  it('tells programs the token', async () => {
    expect(await run('end-delay', 'a', '--json')).toBe(0);
    expect(JSON.parse(outside.output)).toEqual({ ended: 'a', fence: 61 });
  });
});

describe('the node commands', () => {
  it('write a value from the command line or from standard input', async () => {
    outside.input = 'from a pipe\n';
    expect(await run('create', '/a', 'text')).toBe(0);
    expect(await run('create', '/b')).toBe(0);
    expect(await run('create', '/c-', '-', '--sequential')).toBe(0);
    expect(await run('create', '/d', '--container')).toBe(0);
    expect(await run('create', '/e', '--ttl', '7d')).toBe(0);
    expect(await run('set', '/a', '-', '--version', '3')).toBe(0);
    expect(await run('set', '/a', 'y')).toBe(0);
    expect(await run('delete', '/a', '--version', '4')).toBe(0);
    expect(client.calls).toEqual([
      ['create', '/a', 'text', { sequential: false, container: false }],
      ['create', '/b', '', { sequential: false, container: false }],
      ['create', '/c-', 'from a pipe\n', { sequential: true, container: false }],
      ['create', '/d', '', { sequential: false, container: true }],
      ['create', '/e', '', { sequential: false, container: false, ttlMs: 604_800_000 }],
      ['set', '/a', 'from a pipe\n', { version: 3 }],
      ['set', '/a', 'y', {}],
      ['delete', '/a', { version: 4 }],
    ]);
    expect(outside.output).toBe('/a\n/b\n/c-\n/d\n/e\nversion 2\nversion 2\n');
  });

  it('get writes the bytes as they are', async () => {
    client.data = new Uint8Array([0, 255, 10]);
    expect(await run('get', '/a')).toBe(0);
    expect(outside.bytes).toEqual([new Uint8Array([0, 255, 10])]);
    expect(outside.output).toBe('');
  });

  it('get --json gives base64, and text only where the bytes are text', async () => {
    client.data = new Uint8Array([0xff]);
    await run('get', '/a', '--json');
    expect(JSON.parse(outside.output)).toMatchObject({ path: '/a', data: '/w==', text: null });
  });

  it('ls prints one name a line, escaped', async () => {
    client.names = ['a', 'b\nc'];
    await run('ls', '/');
    expect(outside.output).toBe('a\nb\\u000ac\n');
  });

  it('stat prints the fields with their indexes, and fails for a node that does not exist', async () => {
    expect(await run('stat', '/a')).toBe(0);
    expect(outside.output).toContain('created   1970-01-01T00:00:00.000Z at index 7');
    client.stat = undefined;
    expect(await run('stat', '/none')).toBe(1);
    expect(outside.errors).toContain('no node exists at "/none"; see what is there with "lockctl ls"');
  });
});
