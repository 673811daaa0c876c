/**
 * One-shot watches on very many nodes, from a few connections to the leader: what they take of its memory, how fast they are registered,
 * and that each of them tells its change once.
 */

import { secondsOf } from '../../machine/processor-time.ts';
import { residentMiB } from '../../machine/resident-memory.ts';
import { ClientProcess } from '../client-process.ts';
import { withScratchEnsemble } from '../scratch-ensemble.ts';
import type { WatchesOrder, WatchesReport } from './orders.ts';

export interface WatchesOptions {
  /** As many as there are nodes. */
  readonly watches: number;
  readonly connections: number;
  /** How long the server gets to give memory back before it is looked at. */
  readonly collectMs: number;
  say(line: string): void;
}

export interface WatchesResult {
  /** Of the leader: with the connections alone, with the nodes, and with a watch on each of them. */
  readonly emptyMiB: number;
  readonly nodesMiB: number;
  readonly watchesMiB: number;
  readonly seconds: number;
  /** Processor time of the leader and of the process of clients, while these registered. */
  readonly leaderSeconds: number;
  readonly clientSeconds: number;
  /** Nodes that were changed, and events that this has told. */
  readonly changed: number;
  readonly events: number;
}

const DATA_BYTES = 100;
const CHANGED_NODES = 1_000;

export async function measureWatches(options: WatchesOptions): Promise<WatchesResult> {
  const { watches, connections, collectMs } = options;
  return await withScratchEnsemble(async (ensemble) => {
    const leader = await ensemble.waitForLeader();
    const address = ensemble.clientAddresses[leader - 1] ?? '';
    const pid = ensemble.pid(leader) ?? 0;
    const resident = async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, collectMs));
      return residentMiB(pid);
    };
    const clients = new ClientProcess<WatchesOrder, WatchesReport>(new URL('clients.js', import.meta.url));
    try {
      await ask(clients, { type: 'open', address, connections }, 'opened');
      const emptyMiB = await resident();
      options.say(`creating ${watches.toLocaleString('en')} nodes`);
      await ask(clients, { type: 'create', nodes: watches, dataBytes: DATA_BYTES }, 'created');
      const nodesMiB = await resident();
      options.say('watching them');
      const before = secondsOf([pid]);
      const { seconds, processorSeconds: clientSeconds } = await ask(clients, { type: 'watch' }, 'watching');
      const leaderSeconds = secondsOf([pid]) - before;
      const watchesMiB = await resident();
      const changed = Math.min(CHANGED_NODES, watches);
      const { events } = await ask(clients, { type: 'change', nodes: changed }, 'told');
      return { emptyMiB, nodesMiB, watchesMiB, seconds, leaderSeconds, clientSeconds, changed, events };
    } finally {
      await clients.end();
    }
  });
}

async function ask<T extends WatchesReport['type']>(
  clients: ClientProcess<WatchesOrder, WatchesReport>,
  order: WatchesOrder,
  type: T,
): Promise<Extract<WatchesReport, { type: T }>> {
  const report = await clients.ask(order);
  if (report.type !== type) throw new Error(`the clients answered ${order.type} with ${report.type}`);
  return report as Extract<WatchesReport, { type: T }>;
}
