/**
 * Whether the servers reach each other again once everything is healed: as each of them says, and as the network knows, on which nothing
 * may wait for TCP's next attempt any more. And that no connection is closed for a silence while nothing is wrong.
 */

import type { Cluster } from './cluster.ts';
import { serverHost } from '../../plan/plan.ts';
import type { ServerHost } from './server-host.ts';

/** For a dial, a greeting, and a server that starts. */
const SLACK_MS = 1_500;
/** How long a server waits at most before it dials an address again at which it was refused: a stranger may have been there. */
const REFUSED_REDIAL_MS = 15_000;
/** How often is looked: what a server says of its peers is not free. */
const LOOK_MS = 20;

/**
 * After the end of all faults. A connection that was cut shortly before is only closed when nothing was heard for two election timeouts,
 * and for a second at least.
 */
function connectLimitMs({ scenario }: Cluster): number {
  const usurped = scenario.faults.some(({ kind }) => kind === 'usurp');
  const connectMs = Math.max(1_000, 2 * scenario.tuning.electionTimeoutMs) + SLACK_MS;
  return usurped ? REFUSED_REDIAL_MS + connectMs : connectMs;
}

export async function reconnect(cluster: Cluster): Promise<void> {
  const limitMs = connectLimitMs(cluster);
  let lookAtMs = 0;
  let found = false;
  const connected = (): boolean => {
    if (cluster.world.nowMs < lookAtMs) return found;
    lookAtMs = cluster.world.nowMs + LOOK_MS;
    found = cluster.members.every(runs) && apart(cluster).length === 0;
    return found;
  };
  if ((await cluster.runUntil(connected, limitMs)) || apart(cluster).length === 0) return;
  cluster.fail('the-healed-servers-are-connected', `${limitMs} ms after the last fault ${apart(cluster).join(', ')}`);
}

/** One that waits for an operator need not. */
function runs({ serves, damaged, expelled }: ServerHost): boolean {
  return serves || damaged || expelled;
}

/** What hinders the servers that run from speaking to each other. */
export function apart(cluster: Cluster): string[] {
  const found: string[] = [];
  const servers = cluster.members.filter(({ serves }) => serves);
  for (const { id, server } of servers) {
    for (const { id: other } of servers) {
      if (id === other) continue;
      const reported = server?.status.members.find((member) => member.id === other);
      if (reported?.connected === false) found.push(`server ${id} is not connected to server ${other}`);
      const waiting = cluster.world.network.backingOff(serverHost(id), serverHost(other));
      if (id < other && waiting > 0) found.push(`${waiting} connections of servers ${id} and ${other} wait for TCP`);
    }
  }
  return found;
}

/**
 * To be asked for what {@link expectNoSilence} compares with. Until a silence that began under the last fault is over, a connection may
 * still be closed for it, though nothing hinders anybody any more: a server that was paused for almost as long has only just gone on.
 */
export function silencesLater(cluster: Cluster): () => ReadonlyMap<number, number> | undefined {
  let found: ReadonlyMap<number, number> | undefined;
  cluster.world.after(connectLimitMs(cluster), () => (found = silences(cluster)));
  return () => found;
}

/** How many connections each server has closed because nothing was heard on them, since it started. */
function silences(cluster: Cluster): ReadonlyMap<number, number> {
  return new Map([...cluster.servers.values()].map(({ id, server }) => [id, server?.peerSilences ?? 0]));
}

/** `before`: as they were when nothing of the faults could have been to blame any more; undefined when that has not been yet. */
export function expectNoSilence(cluster: Cluster, before: ReadonlyMap<number, number> | undefined): void {
  if (before === undefined) return;
  for (const [id, count] of silences(cluster)) {
    if (count <= (before.get(id) ?? 0)) continue;
    cluster.fail(
      'no-connection-is-closed-while-nothing-is-wrong',
      `server ${id} did not hear a peer on the healed cluster`,
    );
  }
}
