import { execFileSync } from 'node:child_process';
import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;

beforeEach(() => {
  outside = new FakeEnvironment();
});

async function script(shell: string): Promise<string> {
  expect(await runLockctl(['completion', shell], outside)).toBe(0);
  return outside.output;
}

function completed(source: string, ...typed: readonly string[]): readonly string[] {
  const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lockctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', `${source}\n${ask}`, 'bash', 'lockctl', ...typed], { encoding: 'utf8' });
  return output.split('\n').filter((word) => word !== '');
}

describe('the completion for bash', () => {
  it('knows the commands, and those below them', async () => {
    const source = await script('bash');
    expect(completed(source, 'lo')).toEqual(['lock', 'locks']);
    expect(completed(source, 'session', '')).toContain('close');
    expect(completed(source, 'member', 'p')).toEqual(['promote']);
    expect(completed(source, 'completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh']));
  });

  it('knows the options of a command, after options of lockctl with their values', async () => {
    const source = await script('bash');
    expect(completed(source, '--servers', 'locks', 'set', '/a', '--v')).toEqual(['--version']);
    expect(completed(source, 'lock', 'demo', '--w')).toEqual(['--wait']);
    expect(completed(source, '--j')).toEqual(['--json']);
    expect(completed(source, 'lock', 'demo', '--p')).toEqual(['--permits']);
  });

  it('knows what becomes of a lock that was asked for', async () => {
    const source = await script('bash');
    expect(completed(source, 'release', 'demo', '--a')).toEqual(['--ask']);
    expect(completed(source, 'release', 'demo', '--then', '')).toEqual(['revoke', 'leave']);
  });

  it('knows the modes of a lock', async () => {
    const source = await script('bash');
    expect(completed(source, 'lock', 'demo', '--mode', '')).toEqual(['exclusive', 'read', 'write', 'semaphore=']);
    expect(completed(source, 'lock', 'demo', '--mode', 'r')).toEqual(['read']);
    expect(completed(source, 'lock', 'demo', '--', '--mode', 'r')).toEqual([]);
  });

  it('leaves what is behind "--" alone', async () => {
    expect(completed(await script('bash'), 'lock', 'demo', '--', '--w')).toEqual([]);
  });
});

describe('the completion for zsh', () => {
  it('is of the same words', async () => {
    const source = await script('zsh');
    expect(source).toMatch(/^#compdef lockctl\n/);
    expect(source).toContain("'member promote') next='--servers --json --timeout --help' ;;");
    expect(source).not.toContain('path=');
    expect(source).toContain("--mode) next='exclusive read write semaphore=' ;;");
  });
});

describe('a completion', () => {
  it('is refused for another shell', async () => {
    expect(await runLockctl(['completion', 'fish'], outside)).toBe(2);
    expect(outside.errors).toContain('there is no completion for "fish"; it is for bash or zsh');
  });
});
