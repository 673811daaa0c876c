import { describe, expect, it } from 'vitest';

import type { EngineError } from '../../src/engines/engine-error.ts';
import { GroupCommit } from '../../src/engines/group-commit.ts';
import { MAX_WAITING_COMMITS } from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';

const key = Uint8Array.of(7);

describe('commits that arrive together', () => {
  it('become durable together', async () => {
    const engine = memoryEngine();
    await Promise.all(
      Array.from({ length: 200 }, async () => await engine.commit((transaction) => transaction.put(key, key))),
    );
    expect(engine.groups).toBe(1);
  });

  it('are refused beyond a bound rather than kept without one', async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const commits = new GroupCommit(
      async (stage) => {
        await gate;
        stage(() => undefined);
      },
      () => {},
    );
    const waiting = Array.from({ length: MAX_WAITING_COMMITS }, async () => await commits.commit(() => {}));
    await expect(commits.commit(() => {})).rejects.toMatchObject({ code: 'OVERLOADED', indeterminate: false });
    open();
    await Promise.all(waiting);
  });
});

describe('a commit whose group cannot be made durable', () => {
  it('is indeterminate, while one that still waited is known not to have happened', async () => {
    const failures: EngineError[] = [];
    let second: Promise<unknown> | undefined;
    const commits = new GroupCommit(
      async (stage) => {
        stage(() => undefined);
        second = expect(commits.commit(() => {})).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: false });
        throw new Error('EIO');
      },
      (error) => failures.push(error),
    );
    await expect(commits.commit(() => {})).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: true });
    await second;
    expect(failures).toHaveLength(1);
  });
});
