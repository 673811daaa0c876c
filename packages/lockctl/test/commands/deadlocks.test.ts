import type { DeadlockStep } from '@holdfast/protocol';
import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

const STEPS: readonly DeadlockStep[] = [
  { session: 5, label: 'a', holds: 'x', token: 41, waitsFor: 'y', acquireIndex: 60, since: 995_000, behind: 0 },
  { session: 6, label: '', holds: 'y', token: 42, waitsFor: 'x', acquireIndex: 50, since: 700_000, behind: 0 },
];

let outside: FakeEnvironment;
let client: FakeClient;
const run = (...args: string[]) => runLockctl(args, outside);

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
});

describe('deadlocks', () => {
  it('shows what each session holds and waits for, and since when', async () => {
    client.deadlocks = [{ steps: STEPS }];
    expect(await run('deadlocks')).toBe(0);
    expect(outside.output.split('\n').slice(0, 3)).toEqual([
      '#  SESSION  LABEL  HOLDS  TOKEN  WAITS FOR  SINCE  ACQUIRE',
      '1  5        a      x      41     y          5s     60',
      '   6               y      42     x          5m     50',
    ]);
    expect(outside.output).toContain('these are possible deadlocks');
  });

  it('shows behind whom one waits, where that is not who holds the lock', async () => {
    client.deadlocks = [{ steps: STEPS.map((step) => ({ ...step, behind: 48 })) }];
    await run('deadlocks');
    expect(outside.output).toMatch(/WAITS FOR +BEHIND +SINCE/);
    expect(outside.output).toMatch(/^1 +5 +a +x +41 +y +48 +5s +60$/m);
  });

  it('says so when there is none, and when some could not be looked for', async () => {
    await run('deadlocks');
    expect(outside.output).toBe('No deadlock was found.\n');
    outside.output = '';
    client.skipped = 2;
    await run('deadlocks');
    expect(outside.output).toContain('2 waits were not looked at to the end');
  });

  it('is one JSON document for scripts', async () => {
    client.deadlocks = [{ steps: STEPS }];
    client.skipped = 1;
    await run('deadlocks', '--json');
    expect(JSON.parse(outside.output)).toEqual({ deadlocks: [{ steps: STEPS }], skipped: 1 });
  });
});
