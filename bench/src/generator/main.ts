/**
 * One load generator: one process that drives one system in one work. Says `ready` when its sessions are open, then takes orders
 * on standard input, one JSON object a line, and answers each with one JSON line. Every failure ends it.
 */

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import { LOCK_KINDS, isSharedByAll, kindOpener } from './clients/sdk-lock-kinds.ts';
import { ClosedLoops, LOOPED_WORKS, NODES_A_TRANSACTION, cycle, loopsOf } from './closed-loop.ts';
import { OutageClients } from './outage-clients.ts';
import type { LockSession, OpenSession, RawSession } from './raw-session.ts';
import type { GeneratorOrder } from './order.ts';
import { awaitNode, createEphemerals, createNodes, killLeader, tellWatchers } from './single-runs.ts';
import { SYSTEMS, clientOpener, rawOpener } from './systems.ts';

const DATA = new Uint8Array(100).fill(0x61);

const { values: flags } = parseArgs({
  options: {
    system: { type: 'string' },
    route: { type: 'string' },
    work: { type: 'string' },
    sessions: { type: 'string' },
    outstanding: { type: 'string' },
    servers: { type: 'string' },
    prefix: { type: 'string' },
    'session-timeout-ms': { type: 'string' },
  },
});
const system = oneOf('system', SYSTEMS, flags.system);
const servers = (flags.servers ?? '').split(',');
const prefix = flags.prefix ?? 'bench';
const sessionCount = Number(flags.sessions ?? 1);
const sessionTimeoutMs = Number(flags['session-timeout-ms'] ?? 30_000);

void run().catch(fail);

async function run(): Promise<void> {
  if (flags.work === 'outages') return await outages();
  if (flags.route === 'client') {
    const kind = LOCK_KINDS.find((name) => name === flags.work);
    if (kind === undefined) return await loops(clientOpener(system), (sessions) => prepareLocks(sessions, false));
    return await loops(kindOpener(kind), (sessions) => prepareLocks(sessions, isSharedByAll(kind)));
  }
  const open = rawOpener(system);
  if (LOOPED_WORKS.some((work) => work === flags.work)) return await loops(open, prepareRaw);
  if (flags.work === 'leader-kill') {
    const [writer] = await openAll(open, [servers[0] ?? '']);
    if (writer === undefined) return;
    await called((done) => writer.createNodes([nodeOf(0)], DATA, done));
    writer.destroy();
    await serve(async (order) => {
      if (order.type !== 'kill') throw new Error(`leader-kill cannot ${order.type}`);
      const options = { node: nodeOf(0), data: DATA, sessionTimeoutMs, pid: order.pid };
      return { ms: await killLeader(open, servers.slice(1), options) };
    });
    return;
  }
  if (flags.work === 'restart') {
    await serve(async (order) => {
      if (order.type !== 'await-node') throw new Error(`restart cannot ${order.type}`);
      await awaitNode(open, servers[0] ?? '', order.node, sessionTimeoutMs);
      return {};
    });
    return;
  }
  const sessions = await openAll(open, placements());
  await serve((order) => singleRun(sessions, order));
  await closeAll(sessions);
}

async function outages(): Promise<void> {
  if (system !== 'holdfast') throw new Error(`the outage clients of ${system} are native`);
  const clients = await OutageClients.start({ servers, sessions: sessionCount, sessionTimeoutMs, prefix });
  await serve((order) => {
    if (order.type === 'mark') clients.mark();
    else if (order.type === 'renew') clients.renew();
    else if (order.type !== 'outages') throw new Error(`outage clients cannot ${order.type}`);
    return Promise.resolve(clients.report());
  });
  await clients.stop();
}

async function loops<Session extends LockSession>(
  open: OpenSession<Session>,
  prepare: (sessions: readonly Session[]) => Promise<ClosedLoops>,
): Promise<void> {
  const sessions = await openAll(open, placements());
  const load = await prepare(sessions);
  await serve(async (order) => {
    if (order.type !== 'window') throw new Error(`${flags.work} cannot ${order.type}`);
    return await load.window(order.rampMs, order.windowMs);
  });
  await closeAll(sessions);
}

/** Every session has a lock of its own, but for hand-overs; every session has nodes of its own. */
async function prepareRaw(sessions: readonly RawSession[]): Promise<ClosedLoops> {
  const work = oneOf('work', LOOPED_WORKS, flags.work);
  const outstanding = Math.max(1, Math.round(Number(flags.outstanding ?? sessionCount) / sessionCount));
  const lockOf = (n: number): string => (work === 'hand-overs' ? `${prefix}-lock` : `${prefix}-lock-${n}`);
  const each = work === 'transactions' ? NODES_A_TRANSACTION : 1;
  const nodesOf = (n: number): string[] => Array.from({ length: each }, (_, at) => nodeOf(n * each + at));
  for (const [n, session] of sessions.entries()) {
    if (work === 'cycles' || work === 'hand-overs') await called((done) => session.prepareLock(lockOf(n), done));
    else await called((done) => session.createNodes(nodesOf(n), DATA, done));
  }
  return new ClosedLoops(
    sessions.flatMap((session, n) =>
      loopsOf(work, session, { lock: lockOf(n), nodes: nodesOf(n), data: DATA, outstanding }),
    ),
  );
}

async function prepareLocks(sessions: readonly LockSession[], shared: boolean): Promise<ClosedLoops> {
  const lockOf = (n: number): string => (shared ? `${prefix}-lock` : `${prefix}-lock-${n}`);
  for (const [n, session] of sessions.entries()) await called((done) => session.prepareLock(lockOf(n), done));
  return new ClosedLoops(sessions.map((session, n) => cycle(session, lockOf(n))));
}

/** The same for all rounds. */
let isWatchedNodeMade = false;

async function singleRun(sessions: readonly RawSession[], order: GeneratorOrder): Promise<object> {
  switch (order.type) {
    case 'ephemerals':
      await createEphemerals(sessions, `/${prefix}-e-`, order.count);
      return {};
    case 'nodes':
      await createNodes(sessions, `/${prefix}-n-`, order.count, DATA);
      return { last: `/${prefix}-n-${order.count - 1}` };
    case 'watchers': {
      const [writer, ...watching] = sessions;
      if (writer === undefined || writer.watch === undefined) throw new Error(`${system} has no watches`);
      if (!isWatchedNodeMade) await called((done) => writer.createNodes([nodeOf(0)], DATA, done));
      isWatchedNodeMade = true;
      const options = { node: nodeOf(0), data: DATA, perSession: order.perSession, rounds: order.rounds };
      return { times: await tellWatchers(watching, writer, options) };
    }
    case 'window':
    case 'kill':
    case 'await-node':
    case 'mark':
    case 'renew':
    case 'outages':
      throw new Error(`this generator cannot ${order.type}`);
  }
}

/** Answers orders one after the other until standard input ends. */
async function serve(answer: (order: GeneratorOrder) => Promise<object>): Promise<void> {
  say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    say(await answer(JSON.parse(line) as GeneratorOrder));
  }
}

function say(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** Where each session connects: round robin over the servers that were named. */
function placements(): string[] {
  return Array.from({ length: sessionCount }, (_, n) => servers[n % servers.length] ?? '');
}

/** A few at a time: a thousand handshakes at once would measure the backlog of the listening socket. */
async function openAll<Session extends LockSession>(
  open: OpenSession<Session>,
  addresses: readonly string[],
): Promise<Session[]> {
  const sessions: Session[] = [];
  const atOnce = 16;
  for (let at = 0; at < addresses.length; at += atOnce) {
    const opening = addresses
      .slice(at, at + atOnce)
      .map(
        (address) => new Promise<Session>((resolve) => open({ address, sessionTimeoutMs, onFailure: fail }, resolve)),
      );
    sessions.push(...(await Promise.all(opening)));
  }
  return sessions;
}

async function closeAll(sessions: readonly LockSession[]): Promise<never> {
  await Promise.all(sessions.map((session) => called((done) => session.close(done))));
  process.exit(0);
}

function nodeOf(n: number): string {
  return `/${prefix}-node-${n}`;
}

function called(work: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => work(resolve));
}

function oneOf<T extends string>(flag: string, known: readonly T[], value: string | undefined): T {
  const found = known.find((name) => name === value);
  if (found === undefined) throw new Error(`--${flag} must be one of ${known.join(', ')}, not ${value}`);
  return found;
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}
