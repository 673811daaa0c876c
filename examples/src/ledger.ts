/**
 * A lock that its holder enters again. Whoever books an entry locks the ledger. Closing it locks it, too, and books what is left: by the same
 * function, which enters the lock a second time instead of waiting for itself. All of it has one token, and nobody books in between.
 *
 *   node examples/dist/ledger.js NAME AMOUNT...           books amounts
 *   node examples/dist/ledger.js NAME --close AMOUNT...   books amounts and closes the ledger; nothing is booked from then on
 */

import { connect } from '@holdfast/client';
import { FencedKv, type Bucket } from '@holdfast/fenced-kv-client';

const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const store = new FencedKv(process.env['HOLDFAST_STORE'] ?? 'http://127.0.0.1:7400');
const [name = '', ...rest] = process.argv.slice(2);
const closes = rest[0] === '--close';
const amounts = (closes ? rest.slice(1) : rest).map(Number);
if (!/^[\w-]+$/.test(name) || !amounts.every(Number.isSafeInteger)) {
  console.error('say the name of a ledger, of letters, digits, "_" and "-", and amounts, which are whole numbers');
  process.exit(64);
}

const client = await connect({ servers, label: `ledger ${process.pid}` });
client.releaseOnExit();
// The owner is this object: all that is to enter the lock again has to use it. Another one of that name waits.
const lock = client.lock(`ledgers/${name}`, { reentrant: true, limit: 2 });
try {
  if (closes) await close();
  else for (const amount of amounts) await book(amount);
} finally {
  await client.close();
}

/** By itself, or within a hold of the ledger. */
async function book(amount: number): Promise<boolean> {
  return await lock.withLock(async (held) => {
    const ledger = await store.bucket(`ledger-${name}`).fencedBy(held);
    if ((await ledger.get('closed')) !== undefined) {
      console.log(`${amount} is not booked: the ledger is closed`);
      return false;
    }
    await ledger.put('sum', String((await sumOf(ledger)) + amount));
    console.log(`booked ${amount} under token ${held.token}`);
    return true;
  });
}

async function close(): Promise<void> {
  await lock.withLock(async (held) => {
    for (const amount of amounts) if (!(await book(amount))) return;
    const ledger = await store.bucket(`ledger-${name}`).fencedBy(held);
    await ledger.put('closed', 'yes');
    console.log(`closed with ${await sumOf(ledger)} under token ${held.token}`);
  });
}

async function sumOf(ledger: Bucket): Promise<number> {
  const found = await ledger.get('sum');
  return found === undefined ? 0 : Number(new TextDecoder().decode(found.value));
}
