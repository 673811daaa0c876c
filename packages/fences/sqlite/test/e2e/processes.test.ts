import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fence, highest, install, StaleTokenError } from '../../src/index.ts';
import { cellsIn, openFile, slowWrite } from '../support/cells.ts';

const scope = 'jobs';

async function fileWithCells() {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-fence-sqlite-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'cells.db');
  const resource = await cellsIn(file)();
  onTestFinished(() => resource.close?.());
  const database = openFile(file);
  onTestFinished(() => void database.close());
  return { file, database, resource };
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('processes that share a file', () => {
  it('wait for one that is within its transaction, and the event loop goes on', async () => {
    const { file, database, resource } = await fileWithCells();
    const slow = await slowWrite({ file, scope, holder: { token: 5 }, value: 'old' });
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 1);
    const installing = install(database, scope, { token: 7 });
    await expect.poll(() => turns, { timeout: 10_000 }).toBeGreaterThan(10);
    expect(highest(database, scope)).toBe(5);
    await slow.finish();
    await installing;
    clearInterval(turning);
    expect([await resource.read(scope), highest(database, scope)]).toEqual(['old', 7]);
  });

  it('give up after waitMs, and have written nothing', async () => {
    const { file, database, resource } = await fileWithCells();
    const slow = await slowWrite({ file, scope, holder: { token: 5 }, value: 'old' });
    const error = await failureOf(fence(database, scope, { token: 7 }, () => undefined, { waitMs: 20 }));
    expect(error).toMatchObject({ code: 'TIMEOUT', retryable: true, indeterminate: false });
    await slow.finish();
    expect([await resource.read(scope), highest(database, scope)]).toEqual(['old', 5]);
  });

  it('stop waiting when a signal aborts', async () => {
    const { file, database } = await fileWithCells();
    const slow = await slowWrite({ file, scope, holder: { token: 5 }, value: 'old' });
    const aborter = new AbortController();
    const installing = install(database, scope, { token: 7, signal: aborter.signal });
    aborter.abort('lost');
    expect(await failureOf(installing)).toMatchObject({ code: 'ABORTED', indeterminate: false, cause: 'lost' });
    await slow.abandon();
    expect(highest(database, scope)).toBe(5);
  });

  it('lose nothing that was committed where one is killed within its transaction', async () => {
    const { file, database, resource } = await fileWithCells();
    await resource.write(scope, { token: 5 }, 'before');
    await install(database, scope, { token: 6 });
    const slow = await slowWrite({ file, scope, holder: { token: 6 }, value: 'never' });
    slow.child.kill('SIGKILL');
    await failureOf(slow.finish());
    expect([await resource.read(scope), highest(database, scope)]).toEqual(['before', 6]);
    expect(await failureOf(resource.write(scope, { token: 5 }, 'stale'))).toBeInstanceOf(StaleTokenError);
    await resource.write(scope, { token: 7 }, 'after');
    expect(await resource.read(scope)).toBe('after');
  });
});
