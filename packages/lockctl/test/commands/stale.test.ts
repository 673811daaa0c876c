import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

const READS = [
  ['members'],
  ['locks'],
  ['show', 'a'],
  ['deadlocks'],
  ['sessions'],
  ['ls', '/'],
  ['get', '/a'],
  ['stat', '/a'],
];
const WRITES = [
  ['delete', '/a'],
  ['session', 'close', '7'],
  ['transfer'],
  ['release', 'a', '--token', '42'],
  ['release', 'a', '--token', '42', '--ask'],
  ['member', 'promote', '3'],
  ['member', 'remove', '3'],
];

let outside: FakeEnvironment;
let client: FakeClient;
const run = (...args: string[]) => runLockctl(args, outside);

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
  outside.connect = () => Promise.reject(new Error('a session was asked for'));
});

describe('a read', () => {
  it.each(READS)('needs no session, and none but a leader answers: %s', async (...args) => {
    expect(await run(...args)).toBe(0);
    expect(outside.connections).toMatchObject([{ stale: false }]);
    expect(outside.errors).toBe('');
    await run('--json', ...args);
    expect(outside.output).not.toContain('stale');
    expect(client.closed).toBe(2);
  });

  it.each(READS)('with --stale may be answered by any server, and says by which: %s', async (...args) => {
    expect(await run(...args, '--stale')).toBe(0);
    expect(outside.connections).toMatchObject([{ stale: true }]);
    expect(outside.errors).toBe(
      'lockctl: this may be out of date: server 2 (h:7102) answered with what it has applied, up to index 90\n',
    );
  });

  it.each(READS)('with --stale has it in its JSON, too: %s', async (...args) => {
    expect(await run('--json', ...args, '--stale')).toBe(0);
    expect(JSON.parse(outside.output)).toMatchObject({ stale: { server: 2, address: 'h:7102', index: 90 } });
  });

  it('with --stale of several answers names the one that reaches least far', async () => {
    client.admin.sessions = ({ onAnswer }) => {
      for (const [server, index] of [
        [1, 95],
        [3, 80],
        [1, 99],
      ] as const)
        onAnswer?.({ server, address: `h:${server}`, index });
      return (async function* () {})();
    };
    await run('sessions', '--stale');
    expect(outside.errors).toContain('server 3 (h:3) answered with what it has applied, up to index 80');
  });

  it('with --stale that finds nothing says that this may be out of date', async () => {
    client.stat = undefined;
    expect(await run('stat', '/a', '--stale')).toBe(1);
    expect(outside.errors).toMatch(/^lockctl: this may be out of date.*\nlockctl: no node exists/);
  });

  it.each(READS)('for which nobody leads names --stale: %s', async (...args) => {
    for (const code of ['NO_LEADER', 'TIMEOUT']) {
      outside.client = new CodedError(code, 'no');
      outside.errors = '';
      expect(await run(...args)).toBe(1);
      expect(outside.errors).toMatch(/^lockctl: no; .*or read what one server has with --stale\n$/);
    }
  });

  it('of a wrong name does not name --stale', async () => {
    outside.client = new CodedError('NOT_FOUND', 'no');
    expect(await run('get', '/a')).toBe(1);
    expect(outside.errors).not.toContain('--stale');
  });
});

describe('what gives something back', () => {
  it.each(WRITES)('needs no session of its own, and cannot be stale: %s', async (...args) => {
    expect(await run(...args)).toBe(0);
    expect(outside.connections).toMatchObject([{ stale: false }]);
    expect(await run(...args, '--stale')).toBe(2);
    outside.client = new CodedError('NO_LEADER', 'no');
    outside.errors = '';
    expect(await run(...args)).toBe(1);
    expect(outside.errors).not.toContain('--stale');
  });
});
