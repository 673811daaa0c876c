/**
 * A cache that many read and one rebuilds. Readers share a read-write lock. Whoever finds the cache empty gives that back, takes the lock to
 * write, looks again, and rebuilds it if nobody has done so meanwhile. Neither side starves: all are served in the order in which they came.
 *
 *   node examples/dist/cache.js NAME [MS]     reads the cache for so long; start it several times
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type HeldLock } from '@holdfast/client';
import { FencedKv } from '@holdfast/fenced-kv-client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const store = new FencedKv(process.env['HOLDFAST_STORE'] ?? 'http://127.0.0.1:7400');
const [name = '', ms = '0'] = process.argv.slice(2);
if (!/^[\w-]+$/.test(name) || !/^\d+$/.test(ms)) {
  console.error('say the name of a cache, of letters, digits, "_" and "-", and for how many milliseconds to read it');
  process.exit(64);
}

const client = await connect({ servers, label: `cache ${process.pid}` });
client.releaseOnExit();
const lock = client.readWriteLock(`caches/${name}`);
const cache = store.bucket(`cache-${name}`);
try {
  // A read lock cannot be raised to a write lock: two who wanted that would wait for each other.
  while (!(await lock.read().withLock(read))) await lock.write().withLock(rebuild);
} finally {
  await client.close();
}

/** False when there is nothing to read. Any number do this at once. */
async function read(): Promise<boolean> {
  const found = await cache.get('value');
  if (found === undefined) return false;
  console.log(`reads ${new TextDecoder().decode(found.value)}`);
  await sleep(Number(ms));
  return true;
}

async function rebuild(held: HeldLock): Promise<void> {
  // Others may have been before it in the queue.
  if ((await cache.get('value')) !== undefined) return;
  const fenced = await cache.fencedBy(held);
  await sleep(200); // what makes the value dear
  // Refused if this process was paused for so long that another one has rebuilt it.
  await fenced.put('value', `what ${process.pid} has built`);
  console.log(`rebuilt under token ${held.token}`);
}
