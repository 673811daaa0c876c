/** The process of clients: connections with one-shot watches on very many nodes, over the bare protocol. */

import { setTimeout as pause } from 'node:timers/promises';

import { MAX_WATCHES_A_MESSAGE } from '@holdfast/protocol';

import { openHoldfastSession, type HoldfastSession } from '../../generator/holdfast/holdfast-session.ts';
import { createNodes } from '../../generator/single-runs.ts';
import { endWith, obeyOrders } from '../client-process.ts';
import type { WatchesOrder, WatchesReport } from './orders.ts';

const PREFIX = '/watched-';
const SESSION_TIMEOUT_MS = 30_000;
/** Of each connection: the server always has the next one. */
const MESSAGES_UNDER_WAY = 2;
/** Sessions that create the nodes. */
const CREATORS = 4;
/** For what watches tell behind the answer to the last change. */
const LATE_MS = 500;

let sessions: HoldfastSession[] = [];
let nodes = 0;
let data = new Uint8Array();

async function create(count: number, dataBytes: number): Promise<WatchesReport> {
  nodes = count;
  data = new Uint8Array(dataBytes).fill(0x61);
  await createNodes(sessions.slice(0, CREATORS), PREFIX, nodes, data);
  return { type: 'created' };
}

function open(address: string): Promise<HoldfastSession> {
  return new Promise((resolve) => {
    openHoldfastSession({ address, sessionTimeoutMs: SESSION_TIMEOUT_MS, onFailure: endWith }, resolve);
  });
}

async function watch(): Promise<WatchesReport> {
  const before = process.cpuUsage();
  const begun = performance.now();
  let next = 0;
  await Promise.all(
    sessions.flatMap((session) =>
      Array.from({ length: MESSAGES_UNDER_WAY }, async () => {
        while (next < nodes) {
          const first = next;
          next = Math.min(nodes, first + MAX_WATCHES_A_MESSAGE);
          const paths = Array.from({ length: next - first }, (_, at) => pathOf(first + at));
          await new Promise<void>((resolve) => session.watchAll(paths, resolve));
        }
      }),
    ),
  );
  const seconds = (performance.now() - begun) / 1_000;
  const { user, system } = process.cpuUsage(before);
  return { type: 'watching', seconds, processorSeconds: (user + system) / 1e6 };
}

/** Nodes from all over, so that every connection has some. */
async function change(count: number): Promise<WatchesReport> {
  const [writer] = sessions;
  for (let at = 0; at < 2 * count; at += 1) {
    const node = pathOf(Math.floor(((at % count) * nodes) / count));
    await new Promise<void>((resolve) => writer?.write(node, data, resolve));
  }
  await pause(LATE_MS);
  return { type: 'told', events: sessions.reduce((sum, { eventsHeard }) => sum + eventsHeard, 0) };
}

function pathOf(n: number): string {
  return `${PREFIX}${n}`;
}

async function obey(order: WatchesOrder): Promise<WatchesReport> {
  switch (order.type) {
    case 'open':
      sessions = await Promise.all(Array.from({ length: order.connections }, () => open(order.address)));
      return { type: 'opened' };
    case 'create':
      return await create(order.nodes, order.dataBytes);
    case 'watch':
      return await watch();
    case 'change':
      return await change(order.nodes);
  }
}

obeyOrders<WatchesOrder>(obey);
