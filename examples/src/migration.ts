/**
 * A migration that runs once, however many replicas of a service start at the same moment. The first one migrates while the others wait. Each
 * step carries the token, so that a replica that was paused in the midst of it cannot go on behind its successor.
 *
 *   node examples/dist/migration.js NAME     migrates, or says that it was done; start it several times
 */

import { connect } from '@holdfast/client';
import { FencedKv, type Bucket } from '@holdfast/fenced-kv-client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const store = new FencedKv(process.env['HOLDFAST_STORE'] ?? 'http://127.0.0.1:7400');
const [name = ''] = process.argv.slice(2);
if (!/^[\w-]+$/.test(name)) {
  console.error('say the name of a migration, of letters, digits, "_" and "-"');
  process.exit(64);
}

const client = await connect({ servers, label: `migration ${process.pid}` });
// Told to stop, it gives the lock back, and the next replica goes on from the last step.
client.releaseOnExit();
try {
  const lock = client.lock(`migrations/${name}`);
  await lock.withLock(
    async (held) => {
      const database = await store.bucket(`database-${name}`).fencedBy(held);
      if ((await database.get('migrated')) !== undefined) {
        console.log('was migrated before');
        return;
      }
      for (const step of ['add the column', 'fill the column', 'drop the old one']) await run(step, database);
      // The last write: until it is there, whoever comes next begins anew, and finds the steps that were done.
      await database.put('migrated', `by ${process.pid} under token ${held.token}`);
      console.log(`migrated under token ${held.token}`);
    },
    { waitMs: 60_000 },
  );
} finally {
  await client.close();
}

/** May be begun again by the next replica, and does nothing then. */
async function run(step: string, database: Bucket): Promise<void> {
  const key = `step ${step}`;
  if ((await database.get(key)) !== undefined) return;
  await database.put(key, 'done');
  console.log(`step: ${step}`);
}
