import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

describe('the named cases', () => {
  it('have one test each, or a reason why they cannot arise, and the page that lists them is up to date', () => {
    // What is wrong is on its standard error, and so in the message of the failure.
    expect(execFileSync('node', ['scripts/named-cases.mjs', 'check'], { cwd: root, encoding: 'utf8' })).toBe('');
  });
});
