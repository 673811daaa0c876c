/**
 * Money that moves between two accounts: both are locked at once, under one token. Whoever moves it the other way at the same moment waits, and
 * nobody for ever: several locks are granted together or not at all. The database keeps the highest token of each account, and refuses a
 * transfer whose locks were lost.
 *
 *   node examples/dist/transfer.js [TELLERS] [TRANSFERS]     the database is a fake in this process, so that it runs anywhere
 */

import { connect, type Client, type HeldLock } from '@holdfast/client';

/** What this example needs of a database. In SQL one transaction: UPDATE … WHERE id = $1 AND token <= $2, for both, or ROLLBACK. */
class FakeDatabase {
  readonly #rows = new Map(['anna', 'bert', 'cleo'].map((id) => [id, { balance: 1_000, token: 0 }]));
  balance(id: string): Promise<number> {
    return Promise.resolve(this.#rows.get(id)?.balance ?? 0);
  }
  /** False, and nothing has changed, where either account has seen a higher token. */
  setBoth(balances: Readonly<Record<string, number>>, token: number): Promise<boolean> {
    const ids = Object.keys(balances);
    if (ids.some((id) => (this.#rows.get(id)?.token ?? 0) > token)) return Promise.resolve(false);
    for (const id of ids) this.#rows.set(id, { balance: balances[id] ?? 0, token });
    return Promise.resolve(true);
  }
}

const ACCOUNTS = ['anna', 'bert', 'cleo'] as const;
const servers = (process.env['HOLDFAST_SERVERS'] ?? '127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103').split(',');
const [tellers = 4, transfers = 10] = process.argv.slice(2).map(Number);
if (!(Number.isSafeInteger(tellers) && tellers > 0 && Number.isSafeInteger(transfers))) {
  console.error('say how many tellers there are, and how many transfers each makes: two whole numbers');
  process.exit(64);
}

const database = new FakeDatabase();
const clients = await Promise.all(Array.from({ length: tellers }, () => connect({ servers, label: 'teller' })));
try {
  await Promise.all(clients.map((client, teller) => work(client, teller)));
  const balances = await Promise.all(ACCOUNTS.map((id) => database.balance(id)));
  const sum = balances.reduce((left, right) => left + right, 0);
  console.log(`${tellers * transfers} transfers were made, and the sum is still ${sum}`);

  // A teller that was paused after it had read: its locks were lost, and somebody else has moved money of one of the accounts.
  const [paused, other] = [clients[0], clients.at(-1)];
  if (paused !== undefined && other !== undefined) {
    const held = await paused.locks(['accounts/anna', 'accounts/bert']).acquire();
    const read = { anna: await database.balance('anna'), bert: await database.balance('bert') };
    await held.release();
    await other.locks(['accounts/bert', 'accounts/cleo']).withLock((next) => move('bert', 'cleo', 1, next));
    const late = await database.setBoth({ anna: read.anna - 5, bert: read.bert + 5 }, held.token);
    console.log(`a late transfer is ${late ? 'made' : 'refused'}`);
  }
} finally {
  await Promise.all(clients.map((client) => client.close()));
}

/** Each teller goes round in a way of its own, so that they lock the same accounts in different orders. */
async function work(client: Client, teller: number): Promise<void> {
  for (let n = 0; n < transfers; n += 1) {
    const from = ACCOUNTS[(teller + n) % 3] ?? 'anna';
    const to = ACCOUNTS[(teller + n + 1 + (teller % 2)) % 3] ?? 'bert';
    await client.locks([`accounts/${from}`, `accounts/${to}`]).withLock((held) => move(from, to, 10 + n, held));
  }
}

async function move(from: string, to: string, amount: number, held: HeldLock): Promise<void> {
  const [left, right] = [await database.balance(from), await database.balance(to)];
  const moved = await database.setBoth({ [from]: left - amount, [to]: right + amount }, held.token);
  if (!moved) throw new Error(`the locks of ${from} and ${to} were lost: a later token has been here`);
}
