import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeDisk } from '../../src/node/index.ts';

const HOLDER = fileURLToPath(new URL('lock-holder.mjs', import.meta.url));

let directory: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-lock-'));
});
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill));
  await rm(directory, { recursive: true });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Starts a process that takes the directory, and says how it went. */
async function taker(stays = true): Promise<{ child: ChildProcess; outcome: string }> {
  const child = spawn(process.execPath, [HOLDER, directory, stays ? 'stay' : 'leave'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let said = '';
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.includes('\n')) break;
  }
  return { child, outcome: said.trim() };
}

describe('a directory that another process holds', () => {
  it('is refused while that one lives, and free at once when it was killed', async () => {
    const { child, outcome } = await taker();
    expect(outcome).toBe('HELD');
    await expect(nodeDisk().lockDirectory(directory)).rejects.toMatchObject({ code: 'LOCKED', path: directory });
    await kill(child);
    expect(await readdir(directory)).toHaveLength(1);
    const lock = await nodeDisk().lockDirectory(directory);
    expect((await taker(false)).outcome).toBe('LOCKED');
    await lock.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('is refused while that one is stopped', async () => {
    const { child } = await taker();
    child.kill('SIGSTOP');
    await expect(nodeDisk().lockDirectory(directory)).rejects.toMatchObject({ code: 'LOCKED' });
    child.kill('SIGCONT');
  });

  it('goes to exactly one of several processes that start at once after a kill', async () => {
    await kill((await taker()).child);
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => taker()));
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['HELD', 'LOCKED', 'LOCKED', 'LOCKED']);
  });

  it('does not keep the process alive that holds it', async () => {
    const { child, outcome } = await taker(false);
    expect(outcome).toBe('HELD');
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(0);
  });
});
