import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

describe('a command of the repository', () => {
  // Every module that it imports is there, and has what it takes from it: nothing else loads all of them.
  it.each(['check', 'test'])('%s can be loaded, and says what it is', (name) => {
    const script = fileURLToPath(new URL(`../${name}.mjs`, import.meta.url));
    expect(execFileSync(process.execPath, [script, '--help'], { encoding: 'utf8' })).toMatch(
      new RegExp(String.raw`^usage: npx -y pnpm@12 ${name}( \[--\w+\])?: `),
    );
  });
});
