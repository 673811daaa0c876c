import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

import type { Claim } from '../../src/demo/verdict.ts';

const ENTRY = new URL('../../dist/demo/main.js', import.meta.url).pathname;

function demo(...args: string[]) {
  return spawnSync(process.execPath, [ENTRY, ...args], { encoding: 'utf8', timeout: 100_000 });
}

interface DemoDocument {
  readonly happened: boolean;
  readonly claims: readonly Claim[];
  readonly events: readonly unknown[];
}

describe('the demo', () => {
  it('tells the story of the paused holder, and it happens', () => {
    const { status, stdout, stderr } = demo('--json');
    expect(stderr).toBe('');
    const { happened, claims, events } = JSON.parse(stdout) as DemoDocument;
    expect(claims.filter(({ holds }) => !holds)).toEqual([]);
    expect(happened).toBe(true);
    expect(events.length).toBeGreaterThan(15);
    expect(status).toBe(0);
  });

  it('is told in two columns without colour where there is no terminal, and ends with one plain sentence', () => {
    const { status, stdout } = demo();
    expect(status).toBe(0);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toMatch(/ s has the lock, with token \d+\n/);
    expect(stdout).toMatch(/ s {40,}has the lock, with token \d+\n/);
    expect(stdout.indexOf('begins to write 110 €')).toBeLessThan(stdout.indexOf('A is stopped'));
    expect(stdout.indexOf('A goes on where it was')).toBeLessThan(stdout.indexOf('REFUSED by the fence'));
    expect(stdout).toMatch(/with the fence +150 € +B's 50 € are there\n/);
    expect(stdout).toMatch(/without the fence +110 € +B's 50 € are gone\n/);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^A's late write overwrote what B had deposited/);
  });

  it('fails without the fence: the late write gets through', () => {
    const { status, stdout } = demo('--without-fence');
    expect(stdout).toContain('NO   the fenced bucket refused the late write of A as stale (it was not refused)');
    expect(stdout).toContain('NO   the fenced bucket still has what B wrote (it has "110")');
    expect(stdout).toContain('yes  the token of B is higher than that of A');
    expect(status).toBe(1);
  });
});
