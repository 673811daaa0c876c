import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { startChildCommand } from '../src/child-command.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockctl-child-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const shell = (script: string) =>
  startChildCommand({
    command: 'sh',
    args: ['-c', script],
    variables: { ...process.env, DIR: directory, HOLDFAST_TOKEN: '7' },
  });

async function fileWritten(name: string): Promise<string> {
  return await expect
    .poll(() => readFileSync(join(directory, name), { encoding: 'utf8', flag: 'a+' }), { timeout: 5_000 })
    .not.toBe('')
    .then(() => readFileSync(join(directory, name), 'utf8'));
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie still has its pid; it has ended all the same.
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('a command', () => {
  it('ends with its own exit code, and has the variables', async () => {
    const child = shell('echo "$HOLDFAST_TOKEN" > "$DIR/token"; exit 9');
    expect(await child.ended).toEqual({ exitCode: 9 });
    expect(readFileSync(join(directory, 'token'), 'utf8')).toBe('7\n');
  });

  it('that a signal ended has 128 and its number', async () => {
    const child = shell('kill -KILL $$');
    expect(await child.ended).toEqual({ exitCode: 137 });
  });

  it('that does not exist is 127, and one that may not be executed 126', async () => {
    const variables = { PATH: process.env['PATH'] };
    const missing = startChildCommand({ command: 'no-such-command-here', args: [], variables });
    expect(await missing.ended).toEqual({
      exitCode: 127,
      startFailure: 'command "no-such-command-here" was not found; check its name and PATH',
    });
    const denied = startChildCommand({ command: directory, args: [], variables });
    expect((await denied.ended).exitCode).toBe(126);
  });

  it('gets signals as a group: what it started gets them too', async () => {
    const child = shell(
      'trap : USR1; (trap "echo inner > $DIR/inner; exit" USR1; echo $$ > "$DIR/ready"; while :; do sleep 0.05; done) 2>/dev/null & wait; wait',
    );
    await fileWritten('ready');
    await expect
      .poll(() => {
        child.signal('SIGUSR1');
        return readFileSync(join(directory, 'inner'), { encoding: 'utf8', flag: 'a+' });
      })
      .toBe('inner\n');
    await child.ended;
  });
});

describe('a command that is terminated', () => {
  it('ends by SIGTERM with all that it started', async () => {
    const child = shell('sleep 600 & echo $! > "$DIR/pid"; wait');
    const pid = Number(await fileWritten('pid'));
    await child.terminate(5_000);
    expect(await child.ended).toEqual({ exitCode: 143 });
    await expect.poll(() => alive(pid)).toBe(false);
  });

  it('is killed with all that it started when it ignores SIGTERM', async () => {
    const child = shell('trap "" TERM; sleep 600 & echo $! > "$DIR/pid"; while :; do wait; done');
    const pid = Number(await fileWritten('pid'));
    await child.terminate(200);
    expect(await child.ended).toEqual({ exitCode: 137 });
    await expect.poll(() => alive(pid)).toBe(false);
  });
});
