import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('the jepsen command', () => {
  it.each([
    [['sim', '--seeds', 'x'], 2, /give one seed, or a first and a last one, as 1\.\.500/],
    [['sim', '--nope'], 2, /unknown option '--nope'/],
    [['nope'], 2, /unknown command 'nope'/],
    [['replay', '/nowhere.json'], 2, /\/nowhere\.json/],
    [['explore', '--bounds', 'nope'], 2, /there is none of that name; there are elections, /],
    [['explore', '--planted', 'nope'], 2, /there is none of that name; there are quorum-off-by-one, /],
    [['explore', '--states', '0'], 2, /must be an integer from 1/],
    [['--help'], 0, /^$/],
  ])('answers %j with exit code %i', (args, code, message) => {
    const { status, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
    expect(stderr).toMatch(message);
    expect(status).toBe(code);
  });
});
