/**
 * Carries out a scenario's faults on a cluster: each begins and ends at its time, whatever others do meanwhile. What two faults both
 * hold (a link cut, a host paused) comes back when the last of them ends.
 */

import type { Cluster } from '../targets/sim/cluster.ts';
import { LEADER, lockOfHolder, serverHost, STORE_HOST, type Fault, type Scenario } from '../scenario/scenario.ts';

const PLENTY_OF_BYTES = 2 ** 45;
/** A log with fewer bytes has too little to damage. */
const MIN_LOG_BYTES = 4_096;
/** After the last fault, in election time-outs: by then a leader is elected, and knows who follows. */
const CALM_ELECTION_TIMEOUTS = 3;
/** How the frame that closes a batch begins (docs/formats.md); the length of the batch and its checksum follow. */
const COMMIT_FRAME = Buffer.from([5, 0x48, 0x46, 0x57, 8, 0, 0, 0]);
const COMMIT_FRAME_BYTES = 16;

/** A name that stands for nobody at the moment. */
class NobodyError extends Error {}

export class Inflictor {
  readonly #cluster: Cluster;
  /** How many faults hold each link cut, and each host paused. */
  readonly #held = new Map<string, number>();
  #underWay = 0;
  #lastEndMs = 0;
  #healed = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Times count from now. */
  schedule(faults: Scenario['faults']): void {
    const { world } = this.#cluster;
    for (const planned of faults) {
      world.after(planned.atMs, () => {
        // One that was drawn for later than the faults last.
        const fault = this.#healed ? undefined : this.#withHosts(planned);
        if (fault === undefined) return;
        this.#note(fault, 'begin');
        this.#cluster.handOvers.disturbed();
        this.#begin(fault);
        this.#underWay += 1;
        const end = (): void => {
          this.#end(fault);
          this.#underWay -= 1;
          this.#lastEndMs = world.nowMs;
          this.#note(fault, 'end');
        };
        if ('forMs' in fault) world.after(fault.forMs, end);
        else end();
      });
    }
  }

  /** With the hosts that the names stand for now; undefined when one stands for nobody. */
  #withHosts(fault: Fault): Fault | undefined {
    try {
      if ('hosts' in fault) return { ...fault, hosts: fault.hosts.map((name) => this.#hostOf(name)) } as Fault;
      if ('groups' in fault) return { ...fault, groups: this.#apart(fault.groups) };
      if ('host' in fault) return { ...fault, host: this.#hostOf(fault.host) };
      if (!('from' in fault)) return fault;
      const [from, to] = [this.#hostOf(fault.from), this.#hostOf(fault.to)];
      return from === to ? undefined : { ...fault, from, to };
    } catch (error) {
      if (error instanceof NobodyError) return undefined;
      throw error;
    }
  }

  /** A host that a name adds to one group leaves the others. */
  #apart(groups: readonly (readonly string[])[]): string[][] {
    const seen = new Set<string>();
    const take = (name: string): string[] => {
      const host = this.#hostOf(name);
      if (seen.has(host)) return [];
      seen.add(host);
      return [host];
    };
    return groups.map((group) => group.flatMap(take));
  }

  #hostOf(name: string): string {
    const { consensus, locks, world } = this.#cluster;
    const lock = lockOfHolder(name);
    if (lock !== undefined) {
      const holder = locks.holder(lock);
      if (holder === undefined) throw new NobodyError(name);
      return holder;
    }
    if (name !== LEADER) return world.host(name).name;
    const { leader } = consensus;
    if (leader === undefined) throw new NobodyError(name);
    return serverHost(leader);
  }

  /** Ends whatever is left, and starts every process that can start. */
  heal(): void {
    const { world, servers, applications } = this.#cluster;
    this.#healed = true;
    this.#held.clear();
    world.network.heal();
    world.network.setLatency(this.#cluster.scenario.network);
    for (const name of [...servers.keys(), ...applications.keys(), STORE_HOST]) {
      const host = world.host(name);
      host.disk.heal();
      host.disk.setLatency({ durable: this.#cluster.scenario.disk });
      if (host.state === 'paused') host.resume();
      host.setClockRate(1);
      host.setWallRate(1);
      this.#start(name);
    }
  }

  #begin(fault: Fault): void {
    const { world } = this.#cluster;
    switch (fault.kind) {
      case 'crash':
        for (const name of fault.hosts) this.#down(name, () => world.host(name).crash({ tear: fault.tear }));
        return;
      case 'kill':
        for (const name of fault.hosts) this.#down(name, () => world.host(name).kill());
        return;
      case 'stop':
        this.#stop(fault.host);
        return;
      case 'pause':
        this.#hold(`pause ${fault.host}`, () => {
          if (world.host(fault.host).state === 'up') world.host(fault.host).pause();
        });
        return;
      case 'partition':
        for (const [from, to] of linksAcross(fault.groups)) this.#cut(from, to);
        return;
      case 'cut':
        this.#cut(fault.from, fault.to);
        return;
      case 'clog':
        world.network.clog(fault.from, fault.to, fault.forMs);
        return;
      case 'break':
        world.network.breakConnections(...fault.hosts);
        return;
      case 'loss':
        world.network.setConnectionLoss(fault.chance);
        return;
      case 'dials':
        world.network.setDials(fault.mode, fault.from, fault.to);
        return;
      case 'slow-network':
        world.network.setLatency(fault.latency);
        return;
      case 'slow-disk':
        world.host(fault.host).disk.setLatency({ durable: fault.latency });
        return;
      case 'hung-disk':
        world.host(fault.host).disk.stall(fault.forMs);
        return;
      case 'disk-error':
        this.#expectDiskTrouble(fault.host);
        world.host(fault.host).disk.failNext(fault.operation, 'IO');
        return;
      case 'full-disk':
        this.#expectDiskTrouble(fault.host);
        world.host(fault.host).disk.setFreeBytes(0);
        return;
      case 'bit-flip':
        this.#flip(fault);
        return;
      case 'wall-jump':
        world.host(fault.host).jumpWall(fault.byMs);
        return;
      case 'clock-rate':
        this.#setRate(fault, fault.rate);
    }
  }

  /** SIGTERM, which nothing disturbs when the last fault is over for so long that its consequences are, too. */
  #stop(name: string): void {
    const { servers, scenario, handOvers, world } = this.#cluster;
    const server = servers.get(name);
    if (server === undefined) return;
    const calmMs = CALM_ELECTION_TIMEOUTS * scenario.tuning.electionTimeoutMs;
    const calm = this.#underWay === 0 && world.nowMs - this.#lastEndMs >= calmMs;
    if (calm && server.serves) handOvers.stopping(server.id);
    // One that takes its time to stop would otherwise be down for good.
    server.stop(() => {
      if (this.#healed) server.boot();
    });
  }

  #setRate({ host, clock }: Extract<Fault, { kind: 'clock-rate' }>, rate: number): void {
    if (clock === 'wall') this.#cluster.world.host(host).setWallRate(rate);
    else this.#cluster.world.host(host).setClockRate(rate);
  }

  #end(fault: Fault): void {
    const { world, scenario } = this.#cluster;
    switch (fault.kind) {
      case 'crash':
      case 'kill':
        for (const name of fault.hosts) this.#start(name);
        return;
      case 'stop':
      case 'disk-error':
        this.#start(fault.host);
        return;
      case 'full-disk':
        world.host(fault.host).disk.setFreeBytes(PLENTY_OF_BYTES);
        this.#start(fault.host);
        return;
      case 'pause':
        this.#letGo(`pause ${fault.host}`, () => {
          if (world.host(fault.host).state === 'paused') world.host(fault.host).resume();
        });
        return;
      case 'partition':
        for (const [from, to] of linksAcross(fault.groups)) this.#uncut(from, to);
        return;
      case 'cut':
        this.#uncut(fault.from, fault.to);
        return;
      case 'loss':
        world.network.setConnectionLoss(0);
        return;
      case 'dials':
        world.network.setDials('normal', fault.from, fault.to);
        return;
      case 'slow-network':
        world.network.setLatency(scenario.network);
        return;
      case 'slow-disk':
        world.host(fault.host).disk.setLatency({ durable: scenario.disk });
        return;
      case 'clock-rate':
        this.#setRate(fault, 1);
        return;
      // They end by themselves, or at once.
      case 'clog':
      case 'hung-disk':
      case 'break':
      case 'bit-flip':
      case 'wall-jump':
    }
  }

  #down(name: string, how: () => void): void {
    const { world, servers, applications } = this.#cluster;
    if (world.host(name).state === 'down') return;
    how();
    servers.get(name)?.died();
    applications.get(name)?.died();
  }

  #start(name: string): void {
    const { world, servers, applications, store } = this.#cluster;
    // It knows best whether it can: a stranger may have its machine.
    servers.get(name)?.boot();
    if (world.host(name).state !== 'down') return;
    if (name === STORE_HOST) store.boot();
    applications.get(name)?.boot();
  }

  #cut(from: string, to: string): void {
    this.#hold(`cut ${from}>${to}`, () => this.#cluster.world.network.cut(from, to));
  }

  #uncut(from: string, to: string): void {
    this.#letGo(`cut ${from}>${to}`, () => this.#cluster.world.network.heal(from, to));
  }

  #hold(what: string, begin: () => void): void {
    this.#held.set(what, (this.#held.get(what) ?? 0) + 1);
    begin();
  }

  #letGo(what: string, end: () => void): void {
    const held = this.#held.get(what);
    // Healed in between.
    if (held === undefined) return;
    if (held > 1) {
      this.#held.set(what, held - 1);
      return;
    }
    this.#held.delete(what);
    end();
  }

  #expectDiskTrouble(name: string): void {
    const server = this.#cluster.servers.get(name);
    if (server !== undefined) server.diskFaulted = true;
  }

  /** Anywhere but in the last batch of the log, which could be taken for a torn write. */
  #flip({ host: name, at, bit }: Extract<Fault, { kind: 'bit-flip' }>): void {
    const server = this.#cluster.servers.get(name);
    const { disk } = this.#cluster.world.host(name);
    const present = new Set(disk.files());
    const segments = disk
      .durableFiles()
      // One that was renamed, which is not durable yet, is there under its new name.
      .filter((path) => path.endsWith('.wal') && present.has(path))
      .toSorted();
    const ends = segments.map((path) => acknowledgedBytes(disk.durableBytes(path) ?? new Uint8Array()));
    const total = ends.reduce((sum, bytes) => sum + bytes, 0);
    if (server === undefined || total < MIN_LOG_BYTES) return;
    server.bitFlipped = true;
    let offset = Math.floor(at * total);
    for (const [place, path] of segments.entries()) {
      const bytes = ends[place] ?? 0;
      if (offset < bytes) return disk.flipBit(path, offset, bit);
      offset -= bytes;
    }
  }

  #note(fault: Fault, phase: 'begin' | 'end'): void {
    this.#cluster.note({ type: 'fault', fault: fault.kind, phase });
  }
}

/** Where the last batch of a segment begins: its commit frame tells its length. */
function acknowledgedBytes(segment: Uint8Array): number {
  const at = Buffer.from(segment.buffer, segment.byteOffset, segment.length).lastIndexOf(COMMIT_FRAME);
  if (at === -1) return 0;
  const length = new DataView(segment.buffer, segment.byteOffset).getUint32(at + COMMIT_FRAME.length, true);
  return Math.max(0, at + COMMIT_FRAME_BYTES - length);
}

function* linksAcross(groups: readonly (readonly string[])[]): Iterable<[string, string]> {
  for (const [number, group] of groups.entries()) {
    for (const [other, names] of groups.entries()) {
      if (number === other) continue;
      for (const from of group) for (const to of names) yield [from, to];
    }
  }
}
