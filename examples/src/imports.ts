/**
 * Imports, of which all machines together run at most so many at a time: a semaphore. A large one takes two permits, both at once, and is not
 * passed by small ones while it waits. The permits of a process that dies are free when its session has ended.
 *
 *   node examples/dist/imports.js PERMITS FILE...     imports the files, an archive (.zip) with two permits; start it several times
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@holdfast/client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [permits = '', ...files] = process.argv.slice(2);
if (!/^[1-9]\d{0,5}$/.test(permits) || files.length === 0) {
  console.error('say how many imports may run at a time, from 1 on, and which files to import');
  process.exit(64);
}

const client = await connect({ servers, label: `imports ${process.pid}` });
client.releaseOnExit();
// Everybody says the same number of permits: who says another one is refused.
const slots = client.semaphore('examples-imports', { permits: Number(permits) });
let running = 0;
let most = 0;
try {
  // Each is in line by itself. A shared signal would take all of them out of it at once.
  await Promise.all(files.map((file) => slots.withLock(() => importFile(file), { permits: permitsOf(file) })));
  console.log(`${files.length} files are imported, with at most ${most} permits at a time here`);
} finally {
  await client.close();
}

function permitsOf(file: string): number {
  return file.endsWith('.zip') ? Math.min(2, slots.permits) : 1;
}

async function importFile(file: string): Promise<void> {
  running += permitsOf(file);
  most = Math.max(most, running);
  console.log(`begins ${file}`);
  await sleep(100);
  running -= permitsOf(file);
  console.log(`ends ${file}`);
}
