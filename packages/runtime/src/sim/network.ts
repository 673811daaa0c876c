/**
 * The network of a world: links between hosts, what listens where, and dials. Tests cut and heal it here; a process gets
 * its `Network` from `networkOf` (process-network.ts).
 */

import type { Logger } from '../logger.ts';
import type { ListenOptions } from '../network.ts';
import type { Random } from '../random.ts';
import type { SimConnection } from './connection.ts';
import type { Latency } from './latency.ts';
import { Link } from './link.ts';
import type { SimProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

const DEFAULT_LATENCY: Latency = { minMs: 0.2, maxMs: 2 };
const LOOPBACK_LATENCY: Latency = { minMs: 0.03, maxMs: 0.1 };

/** Where operating systems begin to hand out ports. */
export const FIRST_EPHEMERAL_PORT = 49_152;
export const LAST_PORT = 65_535;

export interface SimListener {
  readonly options: ListenOptions;
  readonly process: SimProcess;
  /** Reachable only from its own host. */
  readonly loopbackOnly: boolean;
  readonly connections: Set<SimConnection>;
  readonly logger: Logger;
}

/** The part of a host's kernel that the network sees. */
export interface NetworkHost {
  readonly name: string;
  readonly listeners: Map<number, SimListener>;
  /** The port that the next dial leaves from. */
  nextDialPort: number;
}

export class SimNetwork {
  readonly scheduler: Scheduler;
  readonly #hosts = new Map<string, NetworkHost>();
  readonly #links = new Map<string, Link>();
  readonly #randomFor: (name: string) => Random;
  #latency = DEFAULT_LATENCY;

  constructor(scheduler: Scheduler, randomFor: (name: string) => Random) {
    this.scheduler = scheduler;
    this.#randomFor = randomFor;
  }

  addHost(host: NetworkHost): void {
    this.#hosts.set(host.name, host);
  }

  host(name: string): NetworkHost | undefined {
    return this.#hosts.get(name);
  }

  /** Nothing gets from `from` to `to` any more: frames of connections wait, dials hang. One way only. */
  cut(from: string, to: string): void {
    this.link(from, to).cut();
  }

  /** Heals one way, or without arguments every link. */
  heal(from?: string, to?: string): void {
    if (from !== undefined && to !== undefined) return this.link(from, to).heal();
    if (from !== undefined || to !== undefined) throw new TypeError('heal needs both ends of a link, or none');
    for (const link of this.#links.values()) link.heal();
  }

  /** Cuts both ways between hosts of different groups and heals within each group. Hosts that are not named keep their links. */
  partition(groups: readonly (readonly string[])[]): void {
    const groupOf = new Map(groups.flatMap((group, number) => group.map((name) => [name, number] as const)));
    for (const [from, fromGroup] of groupOf) {
      for (const [to, toGroup] of groupOf) {
        if (from === to) continue;
        if (fromGroup === toGroup) this.link(from, to).heal();
        else this.link(from, to).cut();
      }
    }
  }

  /** Of one link, one way; without ends: of every link between hosts, now and later. */
  setLatency(latency: Latency, from?: string, to?: string): void {
    if (from !== undefined && to !== undefined) {
      this.link(from, to).latency = latency;
      return;
    }
    this.#latency = latency;
    for (const [key, link] of this.#links) if (!isLoopback(key)) link.latency = latency;
  }

  link(from: string, to: string): Link {
    const name = `${from}>${to}`;
    let link = this.#links.get(name);
    if (link === undefined) {
      for (const each of [from, to]) {
        if (!this.#hosts.has(each)) throw new TypeError(`there is no host "${each}" in this world`);
      }
      const latency = from === to ? LOOPBACK_LATENCY : this.#latency;
      link = new Link(name, this.scheduler, this.#randomFor(`network/${name}`), latency);
      this.#links.set(name, link);
    }
    return link;
  }
}

export function freePort(host: NetworkHost): number | undefined {
  for (let port = FIRST_EPHEMERAL_PORT; port <= LAST_PORT; port += 1) if (!host.listeners.has(port)) return port;
  return undefined;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);
const ANY_NAMES: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Whether `name` means the host itself, and whether only to itself. */
export function ownName(host: NetworkHost, name: string): 'no' | 'loopback' | 'public' {
  if (name === host.name || ANY_NAMES.has(name)) return 'public';
  return LOOPBACK_NAMES.has(name) ? 'loopback' : 'no';
}

function isLoopback(linkName: string): boolean {
  const [from, to] = linkName.split('>');
  return from === to;
}
