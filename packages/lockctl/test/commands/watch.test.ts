import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;
const run = (...args: string[]) => runLockctl(args, outside);

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
  client.nodeEvents = [
    { type: 'created', path: '/a', index: 7 },
    { type: 'children', path: '/\u001b[2J', index: 8 },
    { type: 'resync', path: '/a', from: 8, index: 90 },
  ];
});

describe('watch', () => {
  it('prints a line for each change, and one for what was missed', async () => {
    expect(await run('watch', '/a')).toBe(0);
    expect(client.calls).toEqual([['watch', '/a', { recursive: false, onMissed: 'resync' }]]);
    expect(outside.output).toBe(
      '7 created /a\n8 children /\\u001b[2J\n90 resync /a (what happened behind 8 was missed)\n',
    );
    expect(client.closed).toBe(1);
  });

  it('prints a JSON object a line for scripts', async () => {
    await run('watch', '--json', '/a');
    const lines = outside.output.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(client.nodeEvents);
  });

  it('takes nodes below it with -r, and an index from which to go on', async () => {
    await run('watch', '-r', '/a', '--from', '41');
    expect(client.calls).toEqual([['watch', '/a', { recursive: true, onMissed: 'resync', from: 41 }]]);
  });

  it('refuses an index that is none', async () => {
    for (const from of ['0', '-1', '1.5', 'x']) expect(await run('watch', '/a', '--from', from)).toBe(2);
    expect(outside.errors).toContain('not an index');
    expect(client.calls).toEqual([]);
  });

  it('ends with a signal, well', async () => {
    client.watchForever = true;
    const ended = run('watch', '/a');
    await new Promise((resolve) => setImmediate(resolve));
    outside.send('SIGINT');
    expect(await ended).toBe(0);
    expect(outside.errors).toBe('');
  });

  it('fails with what has ended the watch, and says what to do', async () => {
    client.watchFailure = new CodedError('UNSUPPORTED', 'the server has no watches');
    expect(await run('watch', '/a')).toBe(1);
    expect(outside.errors).toBe('lockctl: the server has no watches\n');
  });
});
