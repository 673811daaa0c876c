import { beforeEach, describe, expect, it, vi } from 'vitest';

import { LOST_GRACE_MS } from '../../src/commands/lock.ts';
import type { LockAttempt } from '../../src/ensemble-client.ts';
import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient, FakeHeld } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let held: FakeHeld;
let client: FakeClient;
const lock = (...args: string[]) => runLockctl(['lock', 'demo', ...args], outside);

beforeEach(() => {
  outside = new FakeEnvironment();
  held = new FakeHeld(41);
  client = new FakeClient(held);
  outside.client = client;
});

describe('a command under a lock', () => {
  it('finds the name and the token in its environment, beside what was there', async () => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    expect(await lock('--', 'sh', '-c', 'echo $HOLDFAST_TOKEN')).toBe(0);
    expect(outside.children[0]?.options).toEqual({
      command: 'sh',
      args: ['-c', 'echo $HOLDFAST_TOKEN'],
      variables: { PATH: '/bin', HOLDFAST_LOCK: 'demo', HOLDFAST_LOCKS: 'demo', HOLDFAST_TOKEN: '41' },
    });
  });

  it('keeps its own options, also after options of lockctl', async () => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    expect(await lock('--wait', '5s', '--session-timeout', '3s', '--', 'ls', '--json', '--', '-x')).toBe(0);
    expect(outside.children[0]?.options.args).toEqual(['--json', '--', '-x']);
    expect(client.calls).toEqual([['tryAcquire', 'demo', 5_000]]);
    expect(outside.connections).toMatchObject([{ sessionTimeoutMs: 3_000 }]);
  });

  it('ends lockctl with its exit code, and the lock is released', async () => {
    outside.onStart = (child) => child.end({ exitCode: 7 });
    expect(await lock('--', 'false')).toBe(7);
    expect(held.released).toBe(1);
    expect(client.closed).toBe(1);
    expect(outside.errors).toBe('');
    expect(outside.listeners).toBe(0);
  });

  it('that cannot be started ends with 127 and gives the lock back', async () => {
    outside.onStart = (child) => child.end({ exitCode: 127, startFailure: 'command "nope" was not found' });
    expect(await lock('--', 'nope')).toBe(127);
    expect(outside.errors).toBe('lockctl: command "nope" was not found\n');
    expect(held.released).toBe(1);
  });

  it('gets the signals that lockctl gets, and keeps the lock until it has ended', async () => {
    outside.onStart = (child) => {
      queueMicrotask(() => {
        outside.send('SIGTERM');
        expect(held.released).toBe(0);
        child.end({ exitCode: 143 });
      });
    };
    expect(await lock('--', 'sleep', '100')).toBe(143);
    expect(outside.children[0]?.signals).toEqual(['SIGTERM']);
    expect(held.released).toBe(1);
  });

  it('is not left without its lock by Ctrl-Z', async () => {
    outside.onStart = (child) => {
      queueMicrotask(() => {
        outside.send('SIGTSTP');
        child.end({ exitCode: 0 });
      });
    };
    expect(await lock('--', 'true')).toBe(0);
    expect(outside.children[0]?.signals).toEqual([]);
    expect(outside.errors).toContain('Ctrl-Z is ignored');
  });
});

describe('the mode of a lock', () => {
  it.for([
    [['--mode', 'exclusive'], 'demo'],
    [['--mode', 'read'], 'demo to read'],
    [['--mode', 'write'], 'demo to write'],
    [['--mode', 'semaphore=3'], '1 of 3 demo'],
    [['--mode', 'semaphore=3', '--permits', '2'], '2 of 3 demo'],
    [['--lock-delay', '5s'], 'demo, delayed by 5000 ms when lost'],
    [['--lock-delay', '1m', '--mode', 'read'], 'demo to read, delayed by 60000 ms when lost'],
    [['--lock-delay', '1ms', '--mode', 'semaphore=3'], '1 of 3 demo, delayed by 1 ms when lost'],
    [['--lock-delay', '0'], 'demo'],
  ] as const)('%j is how it is acquired', async ([options, what]) => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    expect(await lock(...options, '--', 'true')).toBe(0);
    expect(client.calls).toEqual([['acquire', what]]);
  });
});

describe('several locks before a command', () => {
  const run = (...args: string[]) => runLockctl(['lock', ...args], outside);

  it('are taken at once, each in the mode that was asked for, and are all in its environment', async () => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    expect(await run('a', 'b', '--wait', '2s', '--mode', 'read', 'c', '--', 'sh', '-c', 'true', '--', 'x')).toBe(0);
    expect(client.calls).toEqual([['tryAcquire', 'a to read + b to read + c to read', 2_000]]);
    expect(outside.children[0]?.options).toMatchObject({ command: 'sh', args: ['-c', 'true', '--', 'x'] });
    expect(outside.children[0]?.options.variables).toMatchObject({
      HOLDFAST_LOCK: 'a',
      HOLDFAST_LOCKS: 'a\nb\nc',
      HOLDFAST_TOKEN: '41',
    });
    expect(held.released).toBe(1);
  });

  it('are one where there is no "--" before the command, or nothing before it', async () => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    expect(await run('a', 'ls', '/tmp')).toBe(0);
    expect(await run('--', 'a', 'ls', '/tmp')).toBe(0);
    expect(client.calls).toEqual([
      ['acquire', 'a'],
      ['acquire', 'a'],
    ]);
    expect(outside.children.map(({ options }) => [options.command, ...options.args])).toEqual([
      ['ls', '/tmp'],
      ['ls', '/tmp'],
    ]);
  });

  it('that are not acquired are named, with who is in the way', async () => {
    const holder = { session: 9, label: 'worker', token: 57 };
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'timeout', holder });
    expect(await run('a', 'b', '--wait', '2s', '--', 'true')).toBe(75);
    expect(outside.errors).toBe(
      'lockctl: locks "a", "b" were not acquired within 2 s, one of them held by session 9 (worker) with token 57; see their queues with "lockctl show", or wait longer with --wait\n',
    );
    outside.errors = '';
    const waiter = { session: 9, label: '', token: 0 };
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'held', holder: waiter });
    expect(await run('a', 'b', '--wait', '0', '--', 'true')).toBe(75);
    expect(outside.errors).toContain(
      'locks "a", "b" are not free, one of them kept for session 9, which waits for another lock, too;',
    );
    outside.errors = '';
    expect(await run('a', '--wait', '0', '--', 'true')).toBe(75);
    expect(outside.errors).toContain('lock "a" is not free, kept for session 9, which waits for another lock, too;');
    outside.errors = '';
    const lost = { session: 0, label: '', token: 57 };
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'held', holder: lost });
    expect(await run('a', '--wait', '0', '--', 'true')).toBe(75);
    expect(outside.errors).toContain('lock "a" is not free, delayed since its holder with token 57 was lost;');
  });

  it('that are waited for are told of by the first that somebody has', async () => {
    const entry = { acquireIndex: 8, session: 7, label: 'backup', token: 41, grantedAt: 0 };
    const own = { ...entry, token: 0 };
    client.admin.lock = (name: string) => {
      const holders = name === 'b' ? [entry] : [];
      return Promise.resolve({ kind: 0, holders, waiters: [own], truncated: false } as never);
    };
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'timeout' });
    expect(await run('a', 'b', '--wait', '1s', '--', 'true')).toBe(75);
    expect(outside.errors).toContain('within 1 s, "b" held by session 7 (backup) with token 41;');
  });

  it('are lost together', async () => {
    outside.onStart = () => queueMicrotask(() => held.lose());
    expect(await run('a', 'b', '--', 'sleep', '100')).toBe(76);
    expect(outside.errors).toContain('lockctl: locks "a", "b" are lost; ending the command\n');
    expect(outside.errors).toContain('locks "a", "b" were lost while the command ran');
  });
});

describe('a lock that is lost while the command runs', () => {
  it('ends the process group, and lockctl with 76', async () => {
    outside.onStart = () => queueMicrotask(() => held.lose());
    expect(await lock('--', 'sleep', '100')).toBe(76);
    expect(outside.children[0]?.terminations).toEqual([LOST_GRACE_MS]);
    expect(outside.errors).toContain('lockctl: lock "demo" is lost; ending the command\n');
    expect(outside.errors).toContain('was lost while the command ran');
    expect(held.released).toBe(0);
  });

  it('is told by 76 though the command itself ended well', async () => {
    held.releaseFailure = new CodedError('LOCK_LOST', 'revoked');
    outside.onStart = (child) => child.end({ exitCode: 0 });
    expect(await lock('--', 'true')).toBe(76);
  });

  it('before the command was started does not start it', async () => {
    held.lose();
    expect(await lock('--', 'true')).toBe(76);
    expect(outside.children).toEqual([]);
  });
});

describe('a release that is not answered', () => {
  it('is told, and leaves the exit code to the command', async () => {
    held.releaseFailure = new CodedError('TIMEOUT', 'no answer');
    outside.onStart = (child) => child.end({ exitCode: 3 });
    expect(await lock('--', 'true')).toBe(3);
    expect(outside.errors).toContain('goes with its session: no answer');
  });
});

describe('a lock that is not acquired in time', () => {
  it('ends lockctl with 75 and names the holder', async () => {
    const holder = { session: 9, label: 'worker\u001b[2J', token: 57 };
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'timeout', holder });
    expect(await lock('--wait', '2s', '--', 'true')).toBe(75);
    expect(outside.errors).toBe(
      'lockctl: lock "demo" was not acquired within 2 s, held by session 9 (worker\\u001b[2J) with token 57; see its queue with "lockctl show", or wait longer with --wait\n',
    );
    expect(outside.children).toEqual([]);
  });

  it('asks for the holder where the answer does not name it', async () => {
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'timeout' });
    client.holders = [{ session: 9, label: '', token: 57, acquireIndex: 57, since: 0, grantedAt: 0 }];
    expect(await lock('--wait', '1s', '--', 'true')).toBe(75);
    expect(outside.errors).toContain('was not acquired within 1 s, held by session 9 with token 57;');
  });

  it('is not waited for with --wait 0', async () => {
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'held' });
    expect(await lock('--wait', '0', '--', 'true')).toBe(75);
    expect(client.calls[0]).toEqual(['tryAcquire', 'demo', 0]);
    expect(outside.errors).toContain('lock "demo" is not free;');
  });
});

describe('a signal during the wait', () => {
  const untilAborted = (signal: AbortSignal): Promise<LockAttempt> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

  it.for([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s cancels it and ends lockctl with %i', async ([signal, exitCode]) => {
    client.attempt = (aborted) => {
      queueMicrotask(() => outside.send(signal));
      return untilAborted(aborted);
    };
    expect(await lock('--', 'true')).toBe(exitCode);
    expect(outside.children).toEqual([]);
    expect(client.closed).toBe(1);
    expect(outside.errors).toBe('');
  });

  it('that comes together with the grant gives the lock back', async () => {
    client.attempt = () => {
      outside.send('SIGINT');
      return Promise.resolve({ acquired: true, held });
    };
    expect(await lock('--', 'true')).toBe(130);
    expect(held.released).toBe(1);
    expect(outside.children).toEqual([]);
  });
});

describe('a lock that cannot be had for now', () => {
  const temporary = (code: string, message: string) =>
    Object.assign(new CodedError(code, message), { retryable: true });

  it.each([
    ['CONNECTION_FAILED', 'no session within 2000 ms'],
    ['NO_LEADER', 'no contact to a leader'],
    ['DISK_FULL', 'the disk of server 2 is almost full'],
    ['TIMEOUT', 'no answer in time'],
  ])('because the ensemble is not there ends with 75 and the reason: %s', async (code, message) => {
    outside.client = temporary(code, message);
    expect(await lock('--wait', '2s', '--', 'true')).toBe(75);
    expect(outside.errors).toContain(message);
    expect(outside.children).toEqual([]);
  });

  it('because its session ended while it waited ends with 75, too', async () => {
    client.attempt = () => Promise.reject(new CodedError('SESSION_EXPIRED', 'it was not renewed in time'));
    expect(await lock('--', 'true')).toBe(75);
  });

  it.each([
    ['WRONG_CLUSTER', 1],
    ['INVALID_ARGUMENT', 2],
  ])('for a reason that does not pass ends as other failures do: %s', async (code, exitCode) => {
    outside.client = new CodedError(code, 'no');
    expect(await lock('--wait', '2s', '--', 'true')).toBe(exitCode);
  });

  it('waits no longer than it was told, connecting included', async () => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    outside.connect = (request) => {
      outside.connections.push(request);
      outside.nowMs = () => 1_001_500;
      return Promise.resolve(client);
    };
    expect(await lock('--wait', '2s', '--', 'true')).toBe(0);
    expect(outside.connections).toMatchObject([{ connectTimeoutMs: 2_000, timeoutMs: 10_000 }]);
    expect(client.calls).toEqual([['tryAcquire', 'demo', 500]]);
  });

  it('gets a second to connect, and without a wait the limit of all commands', async () => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    await lock('--wait', '100ms', '--', 'true');
    await lock('--wait', '0', '--', 'true');
    await lock('--', 'true');
    expect(outside.connections).toMatchObject([
      { connectTimeoutMs: 1_000 },
      { connectTimeoutMs: 10_000 },
      { connectTimeoutMs: 10_000 },
    ]);
  });

  it('says why its holder could not be asked', async () => {
    client.attempt = () => Promise.resolve({ acquired: false, reason: 'timeout' });
    client.admin.lock = () => Promise.reject(temporary('TIMEOUT', 'show lock "demo": no answer in time'));
    expect(await lock('--wait', '2s', '--', 'true')).toBe(75);
    expect(outside.errors).toContain('was not acquired within 2 s, and who holds it could not be asked: show lock');
  });
});

describe('a wait for a lock', () => {
  function waitsLong(): { grant: () => void } {
    const granted = { grant: () => {} };
    outside.onStart = (child) => child.end({ exitCode: 0 });
    client.attempt = () =>
      new Promise((resolve) => {
        granted.grant = () => resolve({ acquired: true, held });
      });
    return granted;
  }

  async function aSecondPasses(): Promise<void> {
    await vi.waitFor(() => expect(outside.timers.size).toBe(1));
    const [[callback, delayMs] = [() => {}, 0]] = outside.timers;
    expect(delayMs).toBe(1_000);
    callback();
    await new Promise((resolve) => setImmediate(resolve));
  }

  it('is told of once a second has passed, with who holds it and how many others wait', async () => {
    const granted = waitsLong();
    const entry = { acquireIndex: 8, session: 7, label: 'backup', token: 41, grantedAt: 0 };
    client.holders = [entry as never];
    client.waiters = [entry, entry, entry] as never;
    const running = lock('--', 'true');
    await aSecondPasses();
    expect(outside.errors).toBe(
      'lockctl: waiting for lock "demo", held by session 7 (backup) with token 41; 2 more wait for it\n',
    );
    granted.grant();
    expect(await running).toBe(0);
  });

  it('is not told of when it was shorter, nor with --json', async () => {
    outside.onStart = (child) => child.end({ exitCode: 0 });
    expect(await lock('--', 'true')).toBe(0);
    expect(outside.timers.size).toBe(0);
    const granted = waitsLong();
    const running = lock('--json', '--', 'true');
    await vi.waitFor(() => expect(client.calls).toHaveLength(2));
    expect(outside.timers.size).toBe(0);
    granted.grant();
    expect(await running).toBe(0);
    expect(outside.errors).toBe('');
  });
});
