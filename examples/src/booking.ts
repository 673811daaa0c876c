/**
 * The last seats of a show, and many more buyers. One lock serves them in the order in which they came, and each hears how many are before it
 * while it waits. When the seats are gone, everybody who still waits hears that at once.
 *
 *   node examples/dist/booking.js SHOW [SEATS] [BUYERS]     prints what became of the buyers
 */

import { once } from 'node:events';
import { connect, NodeExistsError, type HeldLock } from '@holdfast/client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [show = '', ...numbers] = process.argv.slice(2);
const [seats = 10, buyers = 500] = numbers.map(Number);
if (!/^[\w-]+$/.test(show) || !(Number.isSafeInteger(seats) && Number.isSafeInteger(buyers) && buyers > 0)) {
  console.error('say a show, of letters, digits, "_" and "-", and perhaps how many seats there are, and buyers');
  process.exit(64);
}

const client = await connect({ servers, label: 'box office' });
const path = `/examples-show-${show}`;
const soldOut = new AbortController();
/** How many were before each buyer when the sale began. */
const before = new Map<number, number>();
const allQueue = new AbortController();

try {
  await client.nodes.create(path, '').catch((error: unknown) => {
    if (!(error instanceof NodeExistsError)) throw error;
  });
  const closed = await client.lock(`show/${show}`).acquire();
  const buying = Promise.all(Array.from({ length: buyers }, (_, buyer) => buy(buyer)));
  await once(allQueue.signal, 'abort');
  const places = [...before.values()];
  console.log(
    `${before.size} buyers queue, and know that ${Math.min(...places)} to ${Math.max(...places)} are before them`,
  );
  await closed.release();
  const outcomes = await buying;
  const bought = outcomes.filter((outcome) => outcome === 'bought').length;
  const taken = new Set((await bookings()).map(({ seat }) => seat));
  console.log(`${bought} bought a seat, ${buyers - bought} heard that the show is sold out`);
  console.log(`${taken.size} seats are taken`);
} finally {
  await client.close();
}

async function buy(buyer: number): Promise<'bought' | 'sold out'> {
  try {
    return await client.lock(`show/${show}`).withLock((held) => book(buyer, held), {
      signal: soldOut.signal,
      onWait: (wait) => {
        if (!allQueue.signal.aborted) before.set(buyer, wait.before);
        if (before.size === buyers) allQueue.abort();
      },
    });
  } catch (error) {
    if (soldOut.signal.aborted) return 'sold out';
    throw error;
  }
}

async function book(buyer: number, held: HeldLock): Promise<'bought' | 'sold out'> {
  const { stat } = await client.nodes.get(path);
  const all = await bookings();
  if (all.length >= seats) {
    soldOut.abort('sold out');
    return 'sold out';
  }
  const next = [...all, { seat: all.length + 1, buyer, token: held.token }];
  // A holder that was paused names a version that is past, and is refused.
  await client.nodes.set(path, JSON.stringify(next), { version: stat.version });
  return 'bought';
}

async function bookings(): Promise<{ readonly seat: number; readonly buyer: number; readonly token: number }[]> {
  const text = new TextDecoder().decode((await client.nodes.get(path)).data);
  return text === '' ? [] : (JSON.parse(text) as { seat: number; buyer: number; token: number }[]);
}
