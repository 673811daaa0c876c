import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  launchChain,
  readProcess,
  watchLaunchChain,
  type ProcessEntry,
  type ReadProcess,
} from '../../src/start/launch-chain.ts';

const SCRIPT = 'node scripts/require-node.cjs && tsc -b && node packages/ensemble/dist/start/main.js';

/** A process table in which each process is the parent of the next. */
function table(...commands: readonly (readonly string[])[]): { readonly read: ReadProcess; readonly pid: number } {
  const entries = new Map<number, ProcessEntry>();
  commands.forEach((command, position) => {
    entries.set(100 + position, { pid: 100 + position, parent: 99 + position, startedAt: 'then', command });
  });
  return { read: (pid) => entries.get(pid), pid: 99 + commands.length };
}

const pids = (...commands: readonly (readonly string[])[]) => {
  const { read, pid } = table(...commands);
  return launchChain(pid, read).map((ancestor) => ancestor.pid);
};

const npx = ['npm exec pnpm@12 start'];
const pnpm = ['node', '/root/.npm/_npx/1/node_modules/.bin/pnpm', 'start'];
const shell = ['sh', '-c', SCRIPT];
const launcher = ['node', 'packages/ensemble/dist/start/main.js'];

describe('the launch chain', () => {
  it('is every package runner above the launcher with the shells among them', () => {
    expect(pids(['bash'], npx, ['sh', '-c', 'pnpm start'], pnpm, shell, launcher)).toEqual([104, 103, 102, 101]);
    expect(pids(['-zsh'], ['/usr/lib/pnpm', 'start'], ['/bin/sh', '-c', SCRIPT], launcher)).toEqual([102, 101]);
  });

  it('is empty without a package runner: under a plain shell, nohup works', () => {
    expect(pids(['bash'], launcher)).toEqual([]);
    expect(pids(['bash', '-c', 'node start/main.js'], launcher)).toEqual([]);
    expect(pids(['sshd'], ['bash', '-c', 'pnpm start & sleep 5'], launcher)).toEqual([]);
  });

  it('ends below the user’s own shell, even if that has a runner above it', () => {
    expect(pids(['npm run tmux'], ['bash'], pnpm, shell, launcher)).toEqual([103, 102]);
  });

  it('does not take the shell above the topmost runner', () => {
    expect(pids(['bash', '-c', 'make'], pnpm, shell, launcher)).toEqual([102, 101]);
  });
});

describe('the watch on the launch chain', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const chain: ProcessEntry[] = [
    { pid: 5, parent: 4, startedAt: 'a', command: shell },
    { pid: 4, parent: 1, startedAt: 'b', command: pnpm },
  ];

  it('speaks once when a process of it has ended', () => {
    const alive = new Map(chain.map((entry) => [entry.pid, entry]));
    const onGone = vi.fn();
    watchLaunchChain(chain, (pid) => alive.get(pid), onGone);
    vi.advanceTimersByTime(5_000);
    expect(onGone).not.toHaveBeenCalled();
    alive.delete(4);
    vi.advanceTimersByTime(5_000);
    expect(onGone).toHaveBeenCalledTimes(1);
  });

  it('is not deceived by a pid that was given to another process', () => {
    const onGone = vi.fn();
    watchLaunchChain(chain, (pid) => ({ pid, parent: 1, startedAt: 'later', command: [] }), onGone);
    vi.advanceTimersByTime(1_000);
    expect(onGone).toHaveBeenCalledTimes(1);
  });

  it('ends when it is told', () => {
    const onGone = vi.fn();
    watchLaunchChain(chain, () => undefined, onGone)();
    vi.advanceTimersByTime(5_000);
    expect(onGone).not.toHaveBeenCalled();
  });
});

describe('the process table of this machine', () => {
  it('knows this process, its parent and its command', () => {
    const own = readProcess(process.pid);
    expect(own).toMatchObject({ pid: process.pid, parent: process.ppid });
    expect(own?.command.length).toBeGreaterThan(0);
    expect(readProcess(process.pid)?.startedAt).toBe(own?.startedAt);
  });

  it('does not know a process that has ended', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'close');
    expect(readProcess(child.pid ?? 0)).toBeUndefined();
  });
});
