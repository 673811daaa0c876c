/** A process of clients through the SDK, with recursive watches each, that keep every index which these tell. */

import { setTimeout as pause } from 'node:timers/promises';

import { connect, type Client } from '@holdfast/client';

import { obeyOrders } from '../client-process.ts';
import { NOTHING_TOLD, compare, sum, type Comparison } from './comparison.ts';
import type { ResumeOrder, ResumeReport } from './orders.ts';
import { COMMON, parentsOf } from './parents.ts';

/** A crowd that gathers, not one that comes at once. */
const GATHER_AT_ONCE = 32;
/** Who has not resumed by then has not. */
const RESUME_LIMIT_MS = 120_000;
/** For what is on its way when changes have ended. */
const LAST_EVENTS_LIMIT_MS = 10_000;
const POLL_MS = 20;

interface Watched {
  readonly parent: string;
  /** Since the last comparison. */
  told: number[];
}

interface WatchingClient {
  readonly client: Client;
  readonly watched: readonly Watched[];
  /** What it heard last of the parent that all watch, and when, of the wall clock. */
  marked: { readonly path: string; readonly atMs: number } | undefined;
}

const crowd: WatchingClient[] = [];
let broken = 0;

async function gather(order: Extract<ResumeOrder, { type: 'gather' }>): Promise<ResumeReport> {
  const { servers, first, count, sessionTimeoutMs, parents } = order;
  let next = first;
  const gatherSome = async (): Promise<void> => {
    while (next < first + count) {
      const paths = parentsOf(next, parents);
      next += 1;
      const client = await connect({ servers, sessionTimeoutMs, connectTimeoutMs: 60_000 });
      const watched = paths.map((parent): Watched => ({ parent, told: [] }));
      const one: WatchingClient = { client, watched, marked: undefined };
      await Promise.all(watched.map((watch) => begin(one, watch)));
      crowd.push(one);
    }
  };
  await Promise.all(Array.from({ length: GATHER_AT_ONCE }, gatherSome));
  return { type: 'gathered' };
}

async function begin(one: WatchingClient, watched: Watched): Promise<void> {
  const events = one.client.nodes.watch(watched.parent, { recursive: true, timeoutMs: 60_000 });
  void (async () => {
    try {
      for await (const event of events) {
        watched.told.push(event.index);
        if (watched.parent === COMMON) one.marked = { path: event.path, atMs: Date.now() };
      }
    } catch (error) {
      if (broken === 0) process.stderr.write(`the first watch to end, of ${watched.parent}: ${String(error)}\n`);
      broken += 1;
    }
  })();
  await events.started;
}

async function resume(sinceMs: number, mark: string): Promise<ResumeReport> {
  const before = process.cpuUsage();
  await until(() => crowd.every(({ marked }) => marked?.path === mark), RESUME_LIMIT_MS);
  const ms = crowd.flatMap(({ marked }) => (marked?.path === mark ? [marked.atMs - sinceMs] : []));
  const { user, system } = process.cpuUsage(before);
  return {
    type: 'resumed',
    ms: ms.toSorted((a, b) => a - b),
    expired: crowd.filter(({ client }) => client.state === 'expired').length,
    processorSeconds: (user + system) / 1e6,
  };
}

async function compareAll(changes: Extract<ResumeOrder, { type: 'compare' }>['changes']): Promise<ResumeReport> {
  const byParent = new Map(changes);
  const compared = (): Comparison =>
    sum(crowd.map(({ watched }) => sum(watched.map(({ parent, told }) => compare(byParent.get(parent) ?? [], told)))));
  let result = NOTHING_TOLD;
  await until(() => {
    result = compared();
    return result.missed === 0;
  }, LAST_EVENTS_LIMIT_MS);
  for (const { watched } of crowd) for (const watch of watched) watch.told = [];
  return { type: 'compared', ...result, broken };
}

async function until(reached: () => boolean, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!reached() && performance.now() < deadlineMs) await pause(POLL_MS);
}

obeyOrders<ResumeOrder>((order) => {
  switch (order.type) {
    case 'gather':
      return gather(order);
    case 'struck':
      return resume(order.sinceMs, order.mark);
    case 'compare':
      return compareAll(order.changes);
  }
});
