import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../src/program.ts';
import { CodedError, FakeClient } from './support/fake-client.ts';
import { FakeEnvironment } from './support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;
const run = (...args: string[]) => runLockctl(args, outside);

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
});

describe('the command line', () => {
  it.for([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['--bogus', 'locks'], "unknown option '--bogus'"],
    [['--servers'], "option '--servers <host:port,…>' argument missing"],
    [['--servers', '', 'locks'], 'at least one server as host:port'],
    [['--servers', '::1:7101', 'locks'], '"::1:7101" is not host:port'],
    [['--servers', 'http://127.0.0.1:7101', 'locks'], 'is not host:port'],
    [['--servers', '127.0.0.1:0', 'locks'], 'is not host:port with a port from 1 to 65535'],
    [['--servers', '127.0.0.1:7101;127.0.0.1:7102', 'locks'], 'is not host:port'],
    [['--timeout'], "option '--timeout <duration>' argument missing"],
    [['--timeout', '-1s', 'locks'], 'A duration is a number with a unit'],
    [['--timeout', '30d', 'locks'], 'A duration is a number with a unit'],
    [['session', 'close', '0'], 'A session is named by its number'],
    [['session', 'close', '9007199254740993'], 'A session is named by its number'],
    [['create'], "missing required argument 'path'"],
    [['create', '/a', '--ttl', '0'], 'A time to live is a number with a unit'],
    [['create', '/a', '--ttl', '20000d'], 'from 1ms to 1099511627775ms'],
    [['txn'], "missing required argument 'file'"],
    [['set', '/a'], "missing required argument 'value'"],
    [['delete', '/a', '--version', '1.5'], 'A version is a whole number'],
    [['lock'], "missing required argument 'name'"],
    [['lock', 'demo', '--wait', 'long', '--', 'true'], 'A duration is a number with a unit'],
    [['lock', 'demo', '--session-timeout', '--', 'true'], '--session-timeout'],
    [['ls'], "missing required argument 'path'"],
    [['ls', '/', '/x'], 'too many arguments'],
    [['--servers', 'nowhere', 'locks'], 'is not host:port'],
    [['--timeout', '10', 'locks'], 'A duration is a number with a unit'],
    [['session', 'close', 'abc'], 'A session is named by its number'],
    [['set', '/a', 'x', '--version', '-1'], '--version'],
    [['lock', 'demo'], "missing required argument 'command'"],
    [['lock', 'demo', 'sh', '-c', 'true'], "unknown option '-c'"],
    [['lock', 'demo', 'other', '--'], 'missing what to run, behind "--"'],
    [['lock', '--', 'true'], "missing required argument 'command'"],
    [['lock', 'demo', '--mode', 'shared', '--', 'true'], 'Those who share a lock say read.'],
    [['lock', 'demo', '--mode', 'odd', '--', 'true'], 'There is no such mode: it must be exclusive, read, write,'],
    [['lock', 'demo', '--mode', 'semaphore', '--', 'true'], 'There is no such mode'],
    [['lock', 'demo', '--mode', 'semaphore=0', '--', 'true'], 'A semaphore has from 1 to 1000000 permits'],
    [['lock', 'demo', '--mode', 'semaphore=1000001', '--', 'true'], 'A semaphore has from 1 to 1000000 permits'],
    [['lock', 'demo', '--lock-delay', '61s', '--', 'true'], 'A lock is delayed for at most 60s.'],
    [['lock', 'demo', '--lock-delay', '5', '--', 'true'], 'A duration is a number with a unit'],
    [['lock', 'demo', '--permits', '0', '--', 'true'], 'It must be a whole number from 1 to 1000000'],
    [['lock', 'demo', '--permits', '2', '--', 'true'], '--permits is for --mode semaphore=N alone'],
    [
      ['lock', 'demo', '--mode', 'semaphore=3', '--permits', '4', '--', 'true'],
      '--permits 4: the semaphore of --mode has 3 permits',
    ],
  ] as const)('refuses %j with exit code 2 and a reason on standard error', async ([args, reason]) => {
    expect(await run(...args)).toBe(2);
    expect(outside.errors).toContain(reason);
    expect(outside.errors).toMatch(/^lockctl: /);
    expect(outside.output).toBe('');
    expect(outside.connections).toEqual([]);
  });

  it('shows help on standard output with exit code 0', async () => {
    expect(await run('--help')).toBe(0);
    expect(outside.output).toContain('Usage: lockctl');
    expect(await run('lock', '--help')).toBe(0);
    expect(outside.output).toContain('HOLDFAST_TOKEN');
    expect(outside.output).toContain('HOLDFAST_LOCKS has all of them, one a line');
    expect(outside.output).toContain('semaphore=N');
  });

  it('prints its version', async () => {
    expect(await run('--version')).toBe(0);
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
      readonly version: string;
    };
    expect(outside.output).toBe(`${version}\n`);
    // Not that of a node, which `set` takes.
    expect(await run('set', '/a', 'x', '--version', '3')).toBe(0);
    expect(client.calls).toEqual([['set', '/a', 'x', { version: 3 }]]);
  });

  it('takes a leading "--", which package runners pass on', async () => {
    expect(await run('--', 'ls', '/')).toBe(0);
  });

  it('connects to the local ensemble by default, labelled, with 10 s', async () => {
    await run('ls', '/');
    expect(outside.connections).toEqual([
      {
        servers: ['127.0.0.1:7101', '127.0.0.1:7102', '127.0.0.1:7103'],
        timeoutMs: 10_000,
        label: 'lockctl test',
        stale: false,
      },
    ]);
  });

  it('takes servers from HOLDFAST_SERVERS, and rather from --servers', async () => {
    outside.variables['HOLDFAST_SERVERS'] = 'a:1,b:2';
    await run('ls', '/');
    await run('--servers', 'c:3', '--timeout', '500ms', 'ls', '/');
    await run('ls', '/', '--servers', 'd:4');
    expect(outside.connections.map(({ servers }) => servers)).toEqual([['a:1', 'b:2'], ['c:3'], ['d:4']]);
    expect(outside.connections[1]?.timeoutMs).toBe(500);
  });

  it('refuses a wrong HOLDFAST_SERVERS by its name', async () => {
    outside.variables['HOLDFAST_SERVERS'] = 'nonsense';
    expect(await run('ls', '/')).toBe(2);
    expect(outside.errors).toBe('lockctl: HOLDFAST_SERVERS: "nonsense" is not host:port with a port from 1 to 65535\n');
  });

  it('says in one line what to do when no ensemble answers', async () => {
    outside.client = new CodedError('CONNECTION_FAILED', 'none of 127.0.0.1:7101 could be reached');
    expect(await run('locks')).toBe(1);
    expect(outside.errors).toBe(
      'lockctl: none of 127.0.0.1:7101 could be reached; is the ensemble running? Name its servers with --servers or HOLDFAST_SERVERS\n',
    );
  });

  it('closes its client, after a failure too', async () => {
    await run('ls', '/');
    client.stat = undefined;
    expect(await run('stat', '/none')).toBe(1);
    expect(client.closed).toBe(2);
  });
});

describe('an error with --json', () => {
  const error = (): unknown => (JSON.parse(outside.errors) as { readonly error: unknown }).error;

  it.for([
    [['--json', 'frobnicate'], 'USAGE', 2],
    [['ls', '--json'], 'USAGE', 2],
    [['locks', '--json', '--timeout', 'soon'], 'USAGE', 2],
    [['lock', 'demo', '--json', '--mode', 'odd', '--', 'true'], 'USAGE', 2],
  ] as const)('of the command line %j is one document on standard error', async ([args, code, exitCode]) => {
    expect(await run(...args)).toBe(exitCode);
    expect(error()).toMatchObject({ code, exitCode, message: expect.stringMatching(/^\S.*\S$/) as string });
    expect(outside.output).toBe('');
  });

  it('of the ensemble has its code', async () => {
    client.failure = new CodedError('NOT_FOUND', 'there is no node "/a"');
    expect(await run('--json', 'get', '/a')).toBe(1);
    expect(error()).toMatchObject({ code: 'NOT_FOUND', exitCode: 1 });
  });

  it('is not asked for by the command that a lock is for', async () => {
    outside.client = new CodedError('CONNECTION_FAILED', 'nobody is there');
    expect(await run('lock', 'demo', '--', 'ls', '--json')).toBe(1);
    expect(outside.errors).toMatch(/^lockctl: nobody is there/);
  });
});

describe('colours', () => {
  const ESCAPE = '\u001B';

  beforeEach(() => {
    outside.outputIsTerminal = true;
    outside.errorsAreOnTerminal = true;
    client.sessionSummaries = [
      { session: 7, label: '\u001B[31m\uFDD1red', timeoutMs: 10_000, server: 1, locks: [], ephemerals: 0 } as never,
    ];
  });

  it('are on a terminal, and never in what comes from others', async () => {
    await run('sessions');
    expect(outside.output.startsWith(`${ESCAPE}[1mSESSION`)).toBe(true);
    expect(outside.output.split(ESCAPE)).toHaveLength(3);
    await run('frobnicate');
    expect(outside.errors.startsWith(`${ESCAPE}[1;31mlockctl:${ESCAPE}[0m `)).toBe(true);
  });

  it.each([
    ['elsewhere', () => Object.assign(outside, { outputIsTerminal: false, errorsAreOnTerminal: false })],
    ['where NO_COLOR says so', () => Object.assign(outside.variables, { NO_COLOR: '1' })],
    ['on a terminal without any', () => Object.assign(outside.variables, { TERM: 'dumb' })],
  ])('are not %s', async (_where, given) => {
    given();
    await run('sessions');
    await run('frobnicate');
    expect(outside.output).toMatch(/^SESSION/);
    expect(outside.output + outside.errors).not.toContain(ESCAPE);
  });
});
