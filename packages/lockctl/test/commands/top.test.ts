import { beforeEach, describe, expect, it, vi } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;

const status = (): Response => Response.json({ id: 1, role: 'leader', term: 3, leader: 1, version: '0.1.0' });
const held = (lock: string, waiters: number): FakeClient['summaries'][number] =>
  ({
    lock,
    kind: 0,
    waiters,
    holders: [{ session: 7, label: 'backup', token: 41, grantedAt: 990_000, acquireIndex: 40 }],
  }) as never;

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
  outside.answers = { '127.0.0.1:7101': status() };
});

async function shown(): Promise<string> {
  await vi.waitFor(() => expect(outside.timers.size).toBe(1));
  return outside.output;
}

describe('top', () => {
  it('shows servers and the locks for which most wait, until it is interrupted', async () => {
    client.summaries = [held('quiet', 0), held('busy', 5)];
    const running = runLockctl(['--servers', '127.0.0.1:7101', 'top', '--interval', '1s'], outside);
    const screen = await shown();
    expect(screen).toMatch(/leader/);
    expect(screen).toMatch(/busy +5 +10s +backup +41\nquiet +0/);
    expect([...outside.timers.values()]).toEqual([1_000]);
    outside.send('SIGINT');
    expect(await running).toBe(0);
    expect(outside.timers.size).toBe(0);
    expect(outside.listeners).toBe(0);
  });

  it('begins the screen anew each time', async () => {
    const running = runLockctl(['--servers', '127.0.0.1:7101', 'top'], outside);
    const first = await shown();
    const [[next] = [() => {}]] = outside.timers;
    outside.timers.clear();
    outside.answers = { '127.0.0.1:7101': status() };
    next();
    const second = await shown();
    expect(outside.screens).toEqual(['', first]);
    expect(second).toBe(first);
    outside.send('SIGTERM');
    expect(await running).toBe(0);
  });

  it('shows what there is in an outage', async () => {
    outside.answers = {};
    outside.client = new CodedError('CONNECTION_FAILED', 'nobody is there');
    const running = runLockctl(['--servers', '127.0.0.1:7101', 'top'], outside);
    const screen = await shown();
    expect(screen).toContain('unreachable');
    expect(screen).toContain('no server answered');
    expect(screen).toContain('nobody is there');
    outside.send('SIGINT');
    expect(await running).toBe(0);
  });

  it('is refused with --json', async () => {
    expect(await runLockctl(['--json', 'top'], outside)).toBe(2);
    expect(outside.errors).toContain('status --json');
  });
});
