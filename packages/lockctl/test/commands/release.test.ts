import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;

const place = (session: number, token: number, acquireIndex: number) => {
  return { session, label: `host:${session}`, token, acquireIndex, since: 1, grantedAt: 2 };
};

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  client.holders = [place(7, 41, 40), place(8, 41, 41), place(9, 50, 50)];
  outside.client = client;
});

describe('lockctl release', () => {
  it('revokes the hold of that token, and says by which token the resource refuses it', async () => {
    expect(await runLockctl(['release', 'demo', '--token', '50'], outside)).toBe(0);
    expect(client.calls).toContainEqual(['revoke', 'demo', { session: 9, acquireIndex: 50 }]);
    expect(outside.output).toBe(
      'The hold of lock "demo" is taken from session 9 (host:9). It may not know yet: tell the resource token 4711, which refuses it.\n',
    );
  });

  it('prints a document with --json', async () => {
    expect(await runLockctl(['release', 'demo', '--token', '50', '--json'], outside)).toBe(0);
    expect(JSON.parse(outside.output)).toEqual({ lock: 'demo', session: 9, acquireIndex: 50, token: 4_711 });
  });

  it('asks which hold is meant where several have the token, and takes that one', async () => {
    expect(await runLockctl(['release', 'demo', '--token', '41'], outside)).toBe(1);
    expect(outside.errors).toContain('2 holds of lock "demo" share token 41; name one with --hold: 40, 41');
    expect(await runLockctl(['release', 'demo', '--token', '41', '--hold', '41'], outside)).toBe(0);
    expect(client.calls.at(-1)).toEqual(['revoke', 'demo', { session: 8, acquireIndex: 41 }]);
  });

  it.each([[['--token', '42']], [['--token', '41', '--hold', '50']]])(
    'does nothing where no hold is meant: %s',
    async (flags) => {
      expect(await runLockctl(['release', 'demo', ...flags], outside)).toBe(1);
      expect(outside.errors).toMatch(/no hold of lock "demo" has token 4[12].*; see who holds it with "lockctl show"/);
      expect(client.calls.some(([call]) => call === 'revoke')).toBe(false);
    },
  );
});
