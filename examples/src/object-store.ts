/**
 * Many read a file of an object store, change it and write it back, and no change is lost. Object stores have no locks, but writes with a
 * condition: If-Match names the version that was read. The lock keeps writers from failing over and over; the condition and the token, which
 * is kept with the object, refuse the writer whose lock was lost.
 *
 *   node examples/dist/object-store.js [WRITERS] [LINES]     the store is a fake in this process, so that it runs anywhere
 */

import { connect, type Client, type HeldLock } from '@holdfast/client';

/** What this example needs of an object store. A fake: real ones are Amazon S3, Google Cloud Storage, Azure Blob Storage. */
class FakeObjectStore {
  #object = { body: '', etag: 0, token: 0 };
  get(): Promise<{ readonly body: string; readonly etag: number; readonly token: number }> {
    return Promise.resolve(this.#object);
  }
  /** As a PUT with If-Match: false for 412. The token is metadata of the object. */
  put(body: string, { ifMatch, token }: { readonly ifMatch: number; readonly token: number }): Promise<boolean> {
    if (ifMatch !== this.#object.etag) return Promise.resolve(false);
    this.#object = { body, etag: ifMatch + 1, token };
    return Promise.resolve(true);
  }
}

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [writers = 5, lines = 4] = process.argv.slice(2).map(Number);
if (!Number.isSafeInteger(writers) || !Number.isSafeInteger(lines)) {
  console.error('say how many write, and how many lines each: two whole numbers');
  process.exit(64);
}

const store = new FakeObjectStore();
const clients = await Promise.all(Array.from({ length: writers }, () => connect({ servers, label: 'object store' })));
try {
  await Promise.all(clients.map((client, writer) => write(client, writer)));
  const { body, token } = await store.get();
  console.log(`the file has ${body.trimEnd().split('\n').length} lines, the last written under token ${token}`);

  // A writer that was paused after it had read: meanwhile its lock was lost, and another one has written.
  const [paused, other] = [clients[0], clients[1] ?? clients[0]];
  if (paused !== undefined && other !== undefined) {
    const held = await paused.lock('report.txt').acquire();
    const read = await store.get();
    await held.release();
    await other.lock('report.txt').withLock((next) => append('in between', next));
    const late = await store.put(`${read.body}too late\n`, { ifMatch: read.etag, token: held.token });
    console.log(`a late write is ${late ? 'taken' : 'refused'}`);
  }
} finally {
  await Promise.all(clients.map((client) => client.close()));
}

async function write(client: Client, writer: number): Promise<void> {
  for (let line = 1; line <= lines; line += 1)
    await client.lock('report.txt').withLock((held) => append(`writer ${writer}, line ${line}`, held));
}

async function append(line: string, held: HeldLock): Promise<void> {
  const { body, etag, token } = await store.get();
  if (token > held.token) throw new Error(`token ${held.token} is stale: ${token} has been here`);
  held.assertHeld();
  const written = await store.put(`${body}${line}\n`, { ifMatch: etag, token: held.token });
  if (!written) throw new Error('somebody has written since it was read: the lock was lost');
}
