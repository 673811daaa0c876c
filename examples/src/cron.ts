/**
 * A cron job that runs on one of several machines: whoever leads runs it, and when the leader dies another one goes on. Which run was the
 * last is kept in a node whose version each claim names, so that a leader that was paused cannot run one a second time.
 *
 *   node examples/dist/cron.js NAME [EVERY_MS]     prints each run, until it is interrupted; start it several times
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { BadVersionError, connect, NodeExistsError, type Term } from '@holdfast/client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [name = '', every = '1000'] = process.argv.slice(2);
const everyMs = Number(every);
if (!/^[\w-]+$/.test(name) || !(Number.isSafeInteger(everyMs) && everyMs > 0)) {
  console.error('say a name of letters, digits, "_" and "-", and perhaps how many milliseconds lie between two runs');
  process.exit(64);
}

const path = `/examples-cron-${name}`;
const client = await connect({
  servers,
  label: `cron ${name} ${process.pid}`,
  sessionTimeoutMs: 2_000,
  resilient: true,
});
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort(signal));
try {
  await client.nodes.create(path, '0').catch((error: unknown) => {
    if (!(error instanceof NodeExistsError)) throw error;
  });
  console.log('ready');
  // Over a lost session as well, in a new one.
  const campaign = client.election(`cron-${name}`).campaign({ value: `${process.pid}`, signal: stopping.signal });
  for await (const term of campaign) await lead(term);
} catch (error) {
  if (!stopping.signal.aborted) throw error;
} finally {
  await client.close();
}

/** Until the term is over. */
async function lead(term: Term): Promise<void> {
  while (!term.signal.aborted) {
    const slot = Math.floor(Date.now() / everyMs);
    if (await claim(slot)) console.log(`run ${slot} under token ${term.token}`);
    await sleep(everyMs - (Date.now() % everyMs), undefined, { signal: term.signal }).catch(() => undefined);
  }
}

/** False when that run, or a later one, was somebody's already. */
async function claim(slot: number): Promise<boolean> {
  const { data, stat } = await client.nodes.get(path);
  if (Number(new TextDecoder().decode(data)) >= slot) return false;
  try {
    await client.nodes.set(path, String(slot), { version: stat.version });
    return true;
  } catch (error) {
    if (error instanceof BadVersionError) return false;
    throw error;
  }
}
