/**
 * Takes a lock at the server of its argument, says `held`, and then never gives its event loop a turn: it asks again and again whether
 * it still holds the lock, and says `holds` or `lost` with the time since the last look whenever it was not looked at for long.
 */

import { writeSync } from 'node:fs';

import { connect } from '@holdfast/client';

const STDOUT = 1;
const LOOK_MS = 20;
/** Above what a busy machine does to a process, below any stop. */
const LONG_MS = 1_000;

const [server = '', clusterId = '', sessionTimeoutMs = '', lock = ''] = process.argv.slice(2);
const client = await connect({ servers: [server], clusterId, sessionTimeoutMs: Number(sessionTimeoutMs) });
const held = await client.lock(lock).acquire();
writeSync(STDOUT, `held ${held.token}\n`);
const pause = new Int32Array(new SharedArrayBuffer(4));
for (let last = performance.now(); ; last = performance.now()) {
  Atomics.wait(pause, 0, 0, LOOK_MS);
  const sinceMs = performance.now() - last;
  if (sinceMs < LONG_MS) continue;
  let state = 'holds';
  try {
    held.assertHeld();
  } catch {
    state = 'lost';
  }
  writeSync(STDOUT, `${state} after ${Math.round(sinceMs)} ms\n`);
}
