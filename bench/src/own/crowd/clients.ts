/** A process of clients: sessions that each hold a lock, and ask for a write when the leader has been killed under them. */

import { connect, type Client } from '@holdfast/client';

import { obeyOrders } from '../client-process.ts';
import type { CrowdOrder, CrowdReport, Served } from './orders.ts';

/** Sessions that are made at a time: a crowd that gathers, not one that comes at once. */
const GATHER_AT_ONCE = 32;
/** What is not answered by then has failed. */
const ANSWER_LIMIT_MS = 120_000;

const clients: { readonly client: Client; readonly node: string }[] = [];
const suspendedAt = new Map<Client, number>();
let suspendedMs: number[] = [];
let failures: Record<string, number> = {};

const noted = {
  debug(fields: unknown): void {
    const { reason, address } = fields as { readonly reason?: string; readonly address?: string };
    if (reason === undefined || address === undefined) return;
    const kind = reason.replaceAll(address, 'ADDRESS').replaceAll(/\d+/g, 'N');
    failures[kind] = (failures[kind] ?? 0) + 1;
  },
  info(): void {},
  warn(): void {},
  error(_fields: unknown, text?: string): void {
    process.stderr.write(`${text}\n`);
  },
  child: () => noted,
};

async function gather(order: Extract<CrowdOrder, { type: 'gather' }>): Promise<CrowdReport> {
  const begun = performance.now();
  const { servers, sessions, sessionTimeoutMs, prefix } = order;
  let next = 0;
  const gatherSome = async (): Promise<void> => {
    while (next < sessions) {
      next += 1;
      const name = `${prefix}-${next}`;
      const client = await connect({ servers, sessionTimeoutMs, connectTimeoutMs: 60_000, logger: noted });
      client.events.on('suspended', () => suspendedAt.set(client, performance.now()));
      client.events.on('connected', () => {
        const since = suspendedAt.get(client);
        if (since !== undefined) suspendedMs.push(performance.now() - since);
        suspendedAt.delete(client);
      });
      await client.lock(name).acquire();
      await client.nodes.create(`/${name}`, '', { ephemeral: true });
      clients.push({ client, node: `/${name}` });
    }
  };
  await Promise.all(Array.from({ length: GATHER_AT_ONCE }, gatherSome));
  return { type: 'gathered', ms: performance.now() - begun };
}

async function askAll(sinceMs: number): Promise<Served> {
  const before = process.cpuUsage();
  const ms: number[] = [];
  await Promise.all(
    clients.map(async ({ client, node }) => {
      try {
        await client.nodes.set(node, `${sinceMs}`, { timeoutMs: ANSWER_LIMIT_MS });
        ms.push(Date.now() - sinceMs);
      } catch (error) {
        const kind = `write: ${error instanceof Error ? error.name : String(error)}`;
        failures[kind] = (failures[kind] ?? 0) + 1;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  const served: Served = {
    type: 'served',
    ms: ms.toSorted((a, b) => a - b),
    expired: clients.filter(({ client }) => client.state === 'expired').length,
    suspendedMs: suspendedMs.toSorted((a, b) => a - b),
    failures,
    processorSeconds: (user + system) / 1e6,
  };
  suspendedMs = [];
  failures = {};
  return served;
}

obeyOrders<CrowdOrder>((order) => (order.type === 'struck' ? askAll(order.sinceMs) : gather(order)));
