/** A process at its limit of open files, which only a shell can set low enough. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const RUNTIME = new URL('../../dist/index.js', import.meta.url).href;
const NODE_RUNTIME = new URL('../../dist/node/index.js', import.meta.url).href;

/** Leaves one descriptor, which a new file takes, and none for its durable half. Prints what became of everything. */
const SCRIPT = `
import { closeSync, existsSync, openSync } from 'node:fs';
import { patientDisk, silentLogger } from '${RUNTIME}';
import { nodeClock, nodeDisk } from '${NODE_RUNTIME}';
const disk = nodeDisk();
const patient = patientDisk(disk, { clock: nodeClock(), logger: silentLogger, patienceMs: 10_000 });
const outcome = (work) => work.then(() => 'done', ({ code }) => code);
const path = process.env.FILE;
await outcome(disk.list('/'));
const taken = [];
for (;;) {
  try { taken.push(openSync('/dev/null')); } catch { break; }
}
const none = await outcome(disk.open(path, 'create'));
closeSync(taken.pop());
const half = await outcome(disk.open(path, 'create'));
const left = existsSync(path);
const waiting = patient.open(path, 'create');
setTimeout(() => { for (const one of taken) closeSync(one); }, 50);
const file = await waiting;
await file.append(0, [Uint8Array.of(1)]);
await file.close();
console.log(JSON.stringify({ none, half, left, bytes: (await disk.readFile(path)).length }));
`;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-descriptors-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('a disk in a process without a free file descriptor', () => {
  it.skipIf(process.platform !== 'linux')(
    'says so, leaves no half of a file, and opens it when one is free again (needs Linux)',
    () => {
      const { stdout, stderr } = spawnSync(
        'sh',
        ['-c', 'ulimit -n 64 && exec "$0" --input-type=module -e "$SCRIPT"', process.execPath],
        { encoding: 'utf8', env: { ...process.env, SCRIPT, FILE: join(directory, 'file') }, timeout: 30_000 },
      );
      expect(stderr).toBe('');
      const said: unknown = JSON.parse(stdout);
      expect(said).toEqual({ none: 'NO_DESCRIPTORS', half: 'NO_DESCRIPTORS', left: false, bytes: 1 });
    },
  );
});
