/** The systems whose outages are measured, with what decides how long one takes: timeouts of servers, of sessions, of clients. */

import { installPeer, type PeerName } from '../systems/debian.ts';
import type { Route } from '../systems/generator-process.ts';
import { holdfast } from '../systems/holdfast.ts';
import type { SystemUnderTest } from '../systems/system.ts';
import { zooKeeper } from '../systems/zookeeper.ts';

export interface Candidate {
  readonly label: string;
  readonly system: SystemUnderTest;
  readonly route: Route;
  readonly sessionTimeoutMs: number;
  /** When servers give up a silent leader, and when clients give up a silent server. */
  readonly patience: string;
}

/** Our default, and within what ZooKeeper's sample grants. */
const SESSION_TIMEOUT_MS = 10_000;
/** A leader is given up after 1 s of silence, as in the other systems; sessions may then live for 20 ticks at most. */
const SHORT_TIMING = { tickTimeMs: 200, initLimit: 50, syncLimit: 5 };
const SHORT_SESSION_TIMEOUT_MS = 4_000;

export function candidates(against: readonly PeerName[], say: (line: string) => void): Candidate[] {
  const found: Candidate[] = [
    {
      label: 'holdfast',
      system: holdfast(),
      route: 'client',
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      patience: 'servers 1 to 2 s (default); clients 0.4 s until a ping, then 1.2 s (default)',
    },
  ];
  for (const name of against) {
    if (name === 'redis') continue;
    const system = installPeer(name, say);
    if (name === 'etcd') {
      const patience = 'servers 1 to 2 s (default); clients 1 s for each attempt, then the next server';
      found.push({ label: name, system, route: 'native', sessionTimeoutMs: SESSION_TIMEOUT_MS, patience });
      continue;
    }
    found.push(
      {
        label: name,
        system,
        route: 'native',
        sessionTimeoutMs: SESSION_TIMEOUT_MS,
        patience: 'servers 10 s (sample); clients two thirds of the session timeout (no SASL)',
      },
      {
        label: 'zookeeper, short timeouts',
        system: zooKeeper(system.version, SHORT_TIMING),
        route: 'native',
        sessionTimeoutMs: SHORT_SESSION_TIMEOUT_MS,
        patience: 'servers 1 s (tickTime 200, initLimit 50); clients two thirds of the session timeout (no SASL)',
      },
    );
  }
  return found;
}
