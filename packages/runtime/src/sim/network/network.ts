/**
 * The network of a world: links between hosts, what listens where, and dials. Tests break and heal it here; a process gets
 * its `Network` from `networkOf` (process-network.ts).
 */

import type { Logger } from '../../logger.ts';
import type { ListenOptions } from '../../network/network.ts';
import type { PacedAccepts } from '../../network/paced-accepts.ts';
import type { Random } from '../../random.ts';
import type { SimConnection } from './connection.ts';
import { checkLatency } from './latency.ts';
import type { Latency } from './latency.ts';
import { Link } from './link.ts';
import type { DialMode, LinkServices, LinkSettings } from './link.ts';
import type { SimProcess } from '../process.ts';
import { toTicks } from '../scheduler.ts';
import { EventKinds } from '../trace.ts';

const DEFAULT_LATENCY: Latency = { minMs: 0.2, maxMs: 2 };
const LOOPBACK_SETTINGS: LinkSettings = {
  latency: { minMs: 0.03, maxMs: 0.1 },
  slowness: undefined,
  lossChance: 0,
  packetLoss: 0,
  dials: 'normal',
};

const SWIZZLE = new EventKinds('network').of('swizzle');

/** Where operating systems begin to hand out ports. */
export const FIRST_EPHEMERAL_PORT = 49_152;
export const LAST_PORT = 65_535;

/** What travels on the connections of a listener; a dial of the other kind is reset. */
export type TransportKind = 'messages' | 'bytes';

export interface SimListener {
  readonly kind: TransportKind;
  readonly options: ListenOptions;
  readonly process: SimProcess;
  /** Reachable only from its own host. */
  readonly loopbackOnly: boolean;
  readonly connections: Set<SimConnection>;
  readonly accepts: PacedAccepts;
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
  readonly #services: LinkServices;
  readonly #hosts = new Map<string, NetworkHost>();
  readonly #links = new Map<string, Link>();
  /** The open connections between two hosts, by `pairOf`; each as its dialling end. */
  readonly #connections = new Map<string, Set<SimConnection>>();
  /** Of links between hosts that are made from now on. */
  readonly #settings: LinkSettings = {
    latency: DEFAULT_LATENCY,
    slowness: undefined,
    lossChance: 0,
    packetLoss: 0,
    dials: 'normal',
  };

  /** Where streams of bytes are cut. */
  readonly cuts: Random;

  constructor(services: LinkServices) {
    this.#services = services;
    this.cuts = services.randomFor('network/cuts');
  }

  addHost(host: NetworkHost): void {
    this.#hosts.set(host.name, host);
  }

  host(name: string): NetworkHost | undefined {
    return this.#hosts.get(name);
  }

  /**
   * Nothing gets from `from` to `to` any more: frames of connections are dropped and sent again, dials hang. One way only; but what goes the
   * other way comes to a halt as well, since nobody acknowledges it.
   */
  cut(from: string, to: string): void {
    this.link(from, to).cut();
  }

  /** Heals a cut, one way; without arguments every fault of every link: cuts, clogs, losses, limits and dials, but neither latencies nor slowness. */
  heal(from?: string, to?: string): void {
    const link = this.#linkOf(from, to);
    if (link !== undefined) return link.healCut();
    this.#settings.lossChance = 0;
    this.#settings.packetLoss = 0;
    this.#settings.dials = 'normal';
    for (const each of this.#links.values()) each.heal();
  }

  /** Cuts both ways between hosts of different groups and heals cuts within each group. Hosts that are not named keep their links. */
  partition(groups: readonly (readonly string[])[]): void {
    const groupOf = new Map(groups.flatMap((group, number) => group.map((name) => [name, number] as const)));
    for (const [from, fromGroup] of groupOf) {
      for (const [to, toGroup] of groupOf) {
        if (from === to) continue;
        if (fromGroup === toGroup) this.link(from, to).healCut();
        else this.link(from, to).cut();
      }
    }
  }

  /** What is under way or sent within this time, dials included, waits until then, and then arrives in order. One way only. */
  clog(from: string, to: string, forMs: number): void {
    if (!(forMs >= 0 && forMs < Infinity)) throw new RangeError(`a link cannot be clogged for ${forMs} ms`);
    this.link(from, to).clog(forMs);
  }

  /**
   * Clogs the hosts one by one within the first half of this time, both ways between each and every other host of the world,
   * and frees them within the second half in another order. When who is clogged comes from `random`.
   */
  swizzle(hosts: readonly string[], forMs: number, random: Random): void {
    for (const name of hosts) this.#mustExist(name);
    for (const name of hosts) {
      const fromMs = (random.next() * forMs) / 2;
      const untilMs = ((1 + random.next()) * forMs) / 2;
      this.#services.scheduler.schedule(toTicks(fromMs), SWIZZLE, {
        run: () => {
          for (const other of this.#hosts.keys()) {
            if (other === name) continue;
            this.clog(name, other, untilMs - fromMs);
            this.clog(other, name, untilMs - fromMs);
          }
        },
      });
    }
  }

  /**
   * Resets the open connections between two hosts, whoever dialled; returns how many there were. Of what travels each way an
   * unknown suffix is lost; each side hears of the reset when its link lets it.
   */
  breakConnections(a: string, b: string): number {
    for (const name of [a, b]) this.#mustExist(name);
    const open = [...(this.#connections.get(pairOf(a, b)) ?? [])];
    for (const connection of open) connection.break();
    return open.length;
  }

  /** Open connections of two hosts on which something waits for TCP to send it again. */
  backingOff(a: string, b: string): number {
    return [...(this.#connections.get(pairOf(a, b)) ?? [])].filter(({ backsOff }) => backsOff).length;
  }

  /**
   * From now on each frame breaks its connection with this chance, and is lost with it. Of one link, one way; without ends: of
   * every link between hosts, now and later.
   */
  setConnectionLoss(chancePerFrame: number, from?: string, to?: string): void {
    checkChance(chancePerFrame);
    this.#set({ lossChance: chancePerFrame }, from, to);
  }

  /**
   * From now on what arrives is dropped with this chance, with all that travels behind it on its connection, and is sent again as TCP does
   * it. Of one link, one way; without ends: of every link between hosts, now and later.
   */
  setPacketLoss(chance: number, from?: string, to?: string): void {
    checkChance(chance);
    this.#set({ packetLoss: chance }, from, to);
  }

  /** Of one link, one way, by who dials whom; without ends: of every link between hosts, now and later. Open connections live on. */
  setDials(mode: DialMode, from?: string, to?: string): void {
    this.#set({ dials: mode }, from, to);
  }

  /** Of one link, one way; without ends: of every link between hosts, now and later. */
  setLatency(latency: Latency, from?: string, to?: string): void {
    checkLatency(latency);
    this.#set({ latency }, from, to);
  }

  /** Every link between hosts, now and later, takes so long instead of its latency. Undefined: its latency again. */
  slow(slowness: Latency | undefined): void {
    if (slowness !== undefined) checkLatency(slowness);
    this.#set({ slowness }, undefined, undefined);
  }

  /**
   * From now on no more than so many bytes a second get from `from` to `to`, of all connections together, which take turns frame by frame.
   * What is too much waits. Undefined: no limit.
   */
  limitBandwidth(from: string, to: string, bytesPerSecond: number | undefined): void {
    if (bytesPerSecond !== undefined && !(bytesPerSecond > 0 && bytesPerSecond < Infinity)) {
      throw new RangeError(`a bandwidth must be above 0 bytes a second and finite, not ${bytesPerSecond}`);
    }
    this.link(from, to).limitBandwidth(bytesPerSecond);
  }

  link(from: string, to: string): Link {
    const name = `${from}>${to}`;
    let link = this.#links.get(name);
    if (link === undefined) {
      for (const each of [from, to]) this.#mustExist(each);
      link = new Link(name, this.#services, from === to ? LOOPBACK_SETTINGS : this.#settings);
      this.#links.set(name, link);
    }
    return link;
  }

  /** Remembers a connection as open, by its dialling end; returns what forgets it. */
  opened(connection: SimConnection, from: NetworkHost, to: NetworkHost): () => void {
    const pair = pairOf(from.name, to.name);
    const open = this.#connections.get(pair) ?? new Set();
    this.#connections.set(pair, open.add(connection));
    return () => void open.delete(connection);
  }

  #set(settings: Partial<LinkSettings>, from: string | undefined, to: string | undefined): void {
    const one = this.#linkOf(from, to);
    if (one !== undefined) return void Object.assign(one, settings);
    Object.assign(this.#settings, settings);
    for (const [name, link] of this.#links) if (!isLoopback(name)) Object.assign(link, settings);
  }

  /** The link that both ends name; undefined when neither is given. */
  #linkOf(from: string | undefined, to: string | undefined): Link | undefined {
    if (from !== undefined && to !== undefined) return this.link(from, to);
    if (from !== undefined || to !== undefined) throw new TypeError('name both ends of a link, or none for all links');
    return undefined;
  }

  #mustExist(name: string): void {
    if (!this.#hosts.has(name)) throw new TypeError(`there is no host "${name}" in this world`);
  }
}

function checkChance(chance: number): void {
  if (!(chance >= 0 && chance <= 1)) throw new RangeError(`the chance of a loss must be from 0 to 1, not ${chance}`);
}

/** The same for both directions. */
function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

/** Who takes what comes to a port over this link, as the host's kernel sees it. */
export function listenerFor(link: Link, from: NetworkHost, to: NetworkHost, port: number): SimListener | undefined {
  const listener = to.listeners.get(port);
  if (listener === undefined || (listener.loopbackOnly && from !== to)) return undefined;
  if (link.dials !== 'refused') return listener;
  link.struck.count('dial-refused');
  return undefined;
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
