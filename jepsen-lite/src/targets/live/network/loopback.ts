/** All hosts on this machine's loopback: each has ports of its own. What is between two of them nothing can strike, but for a proxy. */

import { freePorts } from './free-ports.ts';
import type { LiveNetwork } from './live-network.ts';

export async function loopback(hosts: readonly string[], ports: readonly number[]): Promise<LiveNetwork> {
  const free = await freePorts(hosts.length * ports.length);
  const addresses = new Map(
    hosts.flatMap((host, n) =>
      ports.map((port, k) => [`${host}:${port}`, `127.0.0.1:${free[n * ports.length + k] ?? 0}`] as const),
    ),
  );
  return {
    address(host, port) {
      const found = addresses.get(`${host}:${port}`);
      if (found === undefined) throw new TypeError(`there is no host ${host} with a port ${port}`);
      return found;
    },
    inside: () => [],
    environment: (_host, base) => base,
    links: undefined,
    delays: undefined,
    struck: () => new Map(),
    heal: () => undefined,
    close: () => undefined,
  };
}
