import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../require-node.cjs', import.meta.url));

/** Runs the check as a Node.js of that version, on that platform, would. */
function check(version: string, platform = 'linux') {
  const pretend = `
    Object.defineProperty(process, 'versions', { value: { node: ${JSON.stringify(version)} } });
    Object.defineProperty(process, 'platform', { value: ${JSON.stringify(platform)} });
    require(${JSON.stringify(SCRIPT)});`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', pretend], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

describe('a Node.js that is too old', () => {
  it.for(['14.21.3', '18.20.8', '20.18.1'])('%s is refused with one sentence', (version) => {
    expect(check(version)).toEqual({
      status: 1,
      output: `Holdfast needs Node.js 20.19 or newer, and this is ${version}; install a newer one from https://nodejs.org and run the command again.\n`,
    });
  });
});

describe('a Node.js that is new enough', () => {
  it.for(['20.19.0', '20.20.2', '22.0.0', '24.21.0'])('%s passes in silence', (version) => {
    expect(check(version)).toEqual({ status: 0, output: '' });
  });

  it('on Windows is told about WSL', () => {
    expect(check('24.0.0', 'win32')).toMatchObject({ status: 1, output: expect.stringContaining('WSL') as string });
  });
});
