/** Where the servers of a test listen, how they are started there, and what they say over HTTP. */

import { join } from 'node:path';
import type { StatusReport } from '../../../src/http/status-report.ts';
import { freePorts } from './lockd-process.ts';

export const CLUSTER_ID = 'e2e';

export interface Place {
  readonly client: number;
  readonly peer: number;
}

export async function places(count: number): Promise<Place[]> {
  const ports = await freePorts(2 * count);
  return Array.from({ length: count }, (_, n) => ({ client: ports[2 * n] ?? 0, peer: ports[2 * n + 1] ?? 0 }));
}

export async function onePlace(): Promise<Place> {
  const [place] = await places(1);
  if (place === undefined) throw new Error('no place');
  return place;
}

/** The arguments of server `id` of those, whose data is in a directory of its own below `directory`. */
export function argumentsFor(id: number, all: readonly Place[], directory: string): string[] {
  const cluster = all.map(({ peer }, n) => `${n + 1}=127.0.0.1:${peer}`).join(',');
  const { client, peer } = all[id - 1] ?? { client: 0, peer: 0 };
  const addresses = ['--client', `127.0.0.1:${client}`, '--peer', `127.0.0.1:${peer}`];
  const data = dataOf(id, directory);
  return ['--id', `${id}`, '--cluster-id', CLUSTER_ID, ...addresses, '--data', data, '--cluster', cluster];
}

/** The arguments of a server that waits to be added. */
export function joiningArgumentsFor(id: number, all: readonly Place[], directory: string): string[] {
  return [...argumentsFor(id, all, directory).slice(0, -2), '--join'];
}

export function dataOf(id: number, directory: string): string {
  return join(directory, `server-${id}`);
}

export async function status(port: number): Promise<StatusReport> {
  const response = await fetch(`http://127.0.0.1:${port}/status`);
  return (await response.json()) as StatusReport;
}

/** The status of the answer, 0 without one. */
export async function answers(port: number, path: string): Promise<number> {
  return fetch(`http://127.0.0.1:${port}${path}`).then(
    (response) => response.status,
    () => 0,
  );
}
