import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeConformance, type FencedResource } from '@holdfast/fence-conformance';
import { afterAll, describe, expect, it } from 'vitest';
import { collect, fence, highest, read } from '../../src/index.ts';
import { oddScope } from '../support/cells.ts';

const PROGRAM = fileURLToPath(new URL('../support/process.mjs', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-files-'));
const children = new Set<ChildProcess>();
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

interface Answer {
  readonly ready?: true;
  readonly id?: number;
  readonly value?: unknown;
  readonly failed?: { readonly code?: string; readonly message: string };
}

interface FenceProcess {
  call(name: string, values: object): Promise<unknown>;
  signal(signal: NodeJS.Signals): void;
  end(signal: NodeJS.Signals): Promise<void>;
}

let ids = 0;

async function start(): Promise<FenceProcess> {
  // Malformed tokens come over as they are: bigints and NaN, too.
  const child = fork(PROGRAM, [directory], { execArgv: [], serialization: 'advanced' });
  children.add(child);
  const waiting = new Map<number, (answer: Answer) => void>();
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      children.delete(child);
      for (const [id, answer] of waiting) answer({ id, failed: { message: 'the process has ended' } });
      resolve();
    });
  });
  await new Promise<void>((resolve) => {
    child.on('message', (answer: Answer) => {
      if (answer.ready === true) return resolve();
      waiting.get(answer.id ?? 0)?.(answer);
    });
  });
  return {
    call: async (call, values) => {
      if (!child.connected) throw new Error('the process has ended');
      ids += 1;
      const id = ids;
      const answer = await new Promise<Answer>((resolve) => {
        waiting.set(id, resolve);
        child.send({ ...values, call, id });
      });
      waiting.delete(id);
      if (answer.failed === undefined) return answer.value;
      throw Object.assign(new Error(answer.failed.message), { code: answer.failed.code });
    },
    signal: (signal) => void child.kill(signal),
    end: async (signal) => {
      child.kill(signal);
      await ended;
    },
  };
}

async function open(): Promise<FencedResource> {
  let child = await start();
  const again = async (signal: NodeJS.Signals): Promise<void> => {
    await child.end(signal);
    child = await start();
  };
  return {
    cells: true,
    scope: oddScope,
    write: async (scope, holder, value, cell = 'a') =>
      void (await child.call('write', { scope, holder: plain(holder), value, cell })),
    read: async (scope, _holder, cell = 'a') => (await child.call('read', { scope, cell })) as string | null,
    install: async (scope, holder) => void (await child.call('install', { scope, holder: plain(holder) })),
    slowWrite: async (scope, holder, value) => {
      const mine = child;
      const started = mine.call('slowWrite', { scope, holder, value });
      const of = ids;
      await started;
      return {
        finish: async () => void (await mine.call('finish', { of })),
        abandon: async () => void (await mine.call('abandon', { of })),
      };
    },
    other: open,
    restart: () => again('SIGTERM'),
    crash: () => again('SIGKILL'),
    close: () => child.end('SIGKILL'),
  };
}

const plain = (holder: unknown): unknown => (typeof holder === 'object' && holder !== null ? { ...holder } : holder);

describeConformance('files behind processes', open, { describe, it });

const textOf = async (scope: string): Promise<string> =>
  Buffer.from((await read(directory, scope, 'a')) ?? '').toString();

describe('a process with a fence on files', () => {
  it('that is killed at any moment leaves what was published, and hinders nobody', async () => {
    const scope = oddScope();
    let last = 0;
    for (let round = 1; round <= 12; round += 1) {
      const child = await start();
      let sent = last;
      const writing = (async () => {
        for (;;) {
          sent += 1;
          await child.call('write', { scope, holder: { token: round }, value: `${sent}`, cell: 'a' });
          last = sent;
        }
      })().catch(() => undefined);
      while (last < round * 5) await new Promise((resolve) => setTimeout(resolve, 1));
      await child.end('SIGKILL');
      await writing;
      const value = Number(await textOf(scope));
      // The write under way was published, or was not.
      expect([last, sent]).toContain(value);
      last = value;
    }
    await fence(directory, scope, { token: 20 }, (tx) => tx.write('a', 'newest'));
    await collect(directory, scope);
    expect(await textOf(scope)).toBe('newest');
  });

  it('that is stopped between its check and its commit is fenced when it goes on', async () => {
    const scope = oddScope();
    const old = await start();
    const started = old.call('slowWrite', { scope, holder: { token: 5 }, value: 'stale' });
    const of = ids;
    await started;
    old.signal('SIGSTOP');
    await fence(directory, scope, { token: 7 }, (tx) => tx.write('a', 'newer'));
    old.signal('SIGCONT');
    await expect(old.call('finish', { of })).rejects.toMatchObject({ code: 'STALE_TOKEN' });
    expect(await textOf(scope)).toBe('newer');
    expect(await highest(directory, scope)).toBe(7);
    await old.end('SIGKILL');
  });

  it('loses no change of another process', async () => {
    const scope = oddScope();
    const all = await Promise.all([start(), start(), start()]);
    await Promise.all(
      all.flatMap((child, place) =>
        Array.from({ length: 10 }, (_, time) =>
          child.call('write', { scope, holder: { token: 9 }, value: 'x', cell: `${place}-${time}` }),
        ),
      ),
    );
    const names = await fence(directory, scope, { token: 9 }, async (tx) => tx.names());
    expect(names.length).toBe(30);
    for (const child of all) await child.end('SIGTERM');
  });
});
