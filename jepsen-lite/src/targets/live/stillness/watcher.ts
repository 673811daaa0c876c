/** The thread that watches. It counts its own looks, so that a harness that was stopped as a whole has not stood still. */

import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { thawAllOf } from '../disks/leftovers.ts';
import type { WatcherData } from './stillness-watch.ts';

const LOOK_MS = 1_000;
const STDERR = 2;

const { beats, limitSeconds, disks } = workerData as WatcherData;
const view = new Int32Array(beats);
let last = 0;
let still = 0;
let step = 'its start';

parentPort?.on('message', (entered: string) => (step = entered));

function say(what: string): void {
  // What this thread prints otherwise the main thread would have to pass on.
  writeSync(STDERR, `the harness has stood still for ${still} s, in ${step}: ${what}\n`);
}

async function look(): Promise<void> {
  const seen = Atomics.load(view, 0);
  if (seen !== last) {
    if (still >= limitSeconds) parentPort?.postMessage(still);
    last = seen;
    still = 0;
    return;
  }
  still += 1;
  if (still === limitSeconds) {
    say('its disks are thawed');
    if (process.platform === 'linux') await thawAllOf(process.pid, disks);
  } else if (still === 2 * limitSeconds) {
    say('it ends');
    process.kill(process.pid, 'SIGKILL');
  }
}

setInterval(() => void look(), LOOK_MS);
