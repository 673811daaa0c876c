import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { namespacesMissing } from '../../../src/targets/live/network/namespaces.ts';

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

let directory: string;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'live-interrupted-'))));
afterEach(() => rmSync(directory, { recursive: true }));

/** Processes whose command line or directories are the run's. */
function processesOf(out: string): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return line.includes(out) ? [line] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

it('ends in order when it is told to stop, begins no other run, and leaves nothing behind', async () => {
  const out = join(directory, 'all');
  const jepsen = spawn(process.execPath, [main, 'run', '--all', '--time', '60', '--out', out], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  jepsen.stdout.setEncoding('utf8').on('data', (text: string) => (told += text));
  const ended = new Promise<number | null>((resolve) => jepsen.on('exit', resolve));
  const serves = (): boolean =>
    existsSync(out) &&
    readdirSync(out).some((run) => {
      const log = join(out, run, 'logs', 's1.log');
      return existsSync(log) && readFileSync(log, 'utf8').includes('serves clients');
    });
  await expect.poll(serves, { timeout: 60_000, interval: 100 }).toBe(true);
  jepsen.kill('SIGINT');
  expect(await ended).toBe(1);
  expect(told).toContain('it was told to stop');
  expect(told).toMatch(/^1 of \d+ runs: 0 valid, 1 invalid, 0 unknown/m);
  expect(processesOf(out)).toEqual([]);
  expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(`holdfast-volumes-${jepsen.pid}-`);
  if (namespacesMissing() === undefined) {
    expect(execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' })).not.toContain(`hf-${jepsen.pid}-`);
  }
});
