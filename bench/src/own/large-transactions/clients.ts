/** The process of the client that makes large transactions: encoding them delays nobody whose acquires are timed. */

import { connect, create, remove, type Client } from '@holdfast/client';

import { obeyOrders } from '../client-process.ts';
import type { LargeTransactionsOrder, LargeTransactionsReport } from './orders.ts';

/** Short, so that 40,000 of its nodes fit one transaction. */
const DIRECTORY = '/t';
const TRANSACTIONS_OF_CREATES = 4;

let client: Client | undefined;
/** Made beforehand: making them is not the servers' affair. */
let deletes: readonly ReturnType<typeof remove>[] = [];

async function open(servers: readonly string[]): Promise<Client> {
  const opened = await connect({ servers });
  await opened.nodes.create(DIRECTORY);
  return opened;
}

async function createAll(nodes: number): Promise<void> {
  const paths = Array.from({ length: nodes }, (_, n) => `${DIRECTORY}/${n}`);
  const each = Math.ceil(nodes / TRANSACTIONS_OF_CREATES);
  for (let from = 0; from < nodes; from += each) {
    await client?.nodes.transaction(paths.slice(from, from + each).map((path) => create(path)));
  }
  deletes = paths.map((path) => remove(path));
}

async function deleteAll(): Promise<void> {
  await client?.nodes.transaction(deletes);
}

async function obey(order: LargeTransactionsOrder): Promise<LargeTransactionsReport> {
  const begun = performance.now();
  const report = (type: LargeTransactionsReport['type']): LargeTransactionsReport => ({
    type,
    ms: performance.now() - begun,
  });
  switch (order.type) {
    case 'open':
      client = await open(order.servers);
      return report('opened');
    case 'create':
      await createAll(order.nodes);
      return report('created');
    case 'delete':
      await deleteAll();
      return report('deleted');
  }
}

obeyOrders<LargeTransactionsOrder>(obey);
