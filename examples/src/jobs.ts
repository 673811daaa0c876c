/**
 * A queue of jobs, each done by one worker. A dead worker's job comes again under a higher token, and the store refuses what the dead one
 * writes when it turns out to live: the result of each job is written once.
 *
 *   node examples/dist/jobs.js put TEXT...     puts a job for each text
 *   node examples/dist/jobs.js work [MS]       does jobs until it is interrupted, each of which takes so long
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect, LockLostError, type QueueItem } from '@holdfast/client';
import { FencedKv, StaleTokenError } from '@holdfast/fenced-kv-client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const store = new FencedKv(process.env['HOLDFAST_STORE'] ?? 'http://127.0.0.1:7400');
const [command, ...rest] = process.argv.slice(2);
if (command !== 'put' && command !== 'work') {
  console.error('say "put" and the texts of the jobs, or "work" and perhaps how many milliseconds a job takes');
  process.exit(64);
}

const client = await connect({ servers, label: `jobs ${process.pid}`, sessionTimeoutMs: 1_000, resilient: true });
const queue = client.queue('examples-jobs');
try {
  if (command === 'put') for (const text of rest) console.log(`job ${await queue.put(text)}: ${text}`);
  else await work(Number(rest[0] ?? '0'));
} finally {
  await client.close();
}

async function work(ms: number): Promise<void> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort(signal));
  console.log('ready');
  try {
    for await (const item of queue.consume({ signal: stopping.signal })) await perform(item, ms);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
  }
}

async function perform(item: QueueItem, ms: number): Promise<void> {
  const text = new TextDecoder().decode(item.data);
  console.log(`begins ${item.id} under token ${item.token}`);
  try {
    // A token is of one job, hence its bucket, too. From now on nobody who had the job before can write its result.
    const results = await store.bucket(`job-${item.id}`).fencedBy({ token: item.token });
    await sleep(ms);
    // No look at item.signal: a look can be too early, and the store is asked anyway.
    await results.put('result', text.toUpperCase());
    await item.done();
    console.log(`has done ${item.id}: ${text.toUpperCase()}`);
  } catch (error) {
    if (!(error instanceof StaleTokenError) && !(error instanceof LockLostError)) throw error;
    console.log(`was too late with ${item.id}: ${error.message}`);
  }
}
