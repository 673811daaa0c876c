/** The simulated cluster as a target: everything that a nemesis may ask for is there, and is done at once; time is the world's. */

import type { SimHost } from '@holdfast/runtime/sim';
import { LEADER, lockOfHolder, PRIMARY, serverHost, STORE_HOST } from '../../plan/plan.ts';
import { faultEvent } from '../events.ts';
import { Holds } from '../holds.ts';
import type { RunningClient, RunTarget } from '../phases.ts';
import type { Violation } from '../../checkers/violation.ts';
import type { HistoryEvent, HistoryEventBody } from '../../history/history.ts';
import type { Capabilities, CapabilityName, Effect, TargetWith } from '../../nemeses/target.ts';
import type { Cluster } from './cluster.ts';
import { describe, Inspections } from './inspections.ts';
import { flipAcknowledgedBit } from './log-damage.ts';
import { MemberChanges } from '../members/member-changes.ts';
import { primaryOf } from './replicas/inspection.ts';
import { simMembers } from './sim-members.ts';

/** What only real processes can suffer. */
export const NOT_SIMULATED = ['twins', 'versions'] as const satisfies readonly CapabilityName[];

const PLENTY_OF_BYTES = 2 ** 45;
/** After the last fault, in election timeouts: by then a leader is elected, and knows who follows. */
const CALM_ELECTION_TIMEOUTS = 3;

export class SimTarget implements RunTarget, TargetWith<Exclude<CapabilityName, (typeof NOT_SIMULATED)[number]>> {
  readonly #cluster: Cluster;
  readonly #holds = new Holds();
  readonly members: MemberChanges;
  readonly strangers: Capabilities['strangers'];
  readonly #inspections: Inspections;
  #underWay = 0;
  #lastEndMs = 0;
  #healed = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.members = new MemberChanges(simMembers(cluster));
    this.strangers = cluster.strangers;
    this.#inspections = new Inspections(cluster, this.members);
  }

  readonly processes: Capabilities['processes'] = {
    kill: (name) => this.#down(name, (host) => host.kill()),
    terminate: (name) => this.#terminate(name),
    pause: (name) => {
      const host = this.#host(name);
      this.#holds.hold(`pause ${name}`, () => {
        if (host.state === 'up') host.pause();
      });
    },
    resume: (name) => {
      const host = this.#host(name);
      this.#holds.letGo(`pause ${name}`, () => {
        if (host.state === 'paused') host.resume();
      });
    },
    start: (name) => this.#start(name),
  };

  readonly power: Capabilities['power'] = {
    fail: (name, tear) => this.#down(name, (host) => host.crash({ tear })),
  };

  readonly links: Capabilities['links'] = {
    cut: (from, to) => this.#holds.hold(`cut ${from}>${to}`, () => this.#network.cut(from, to)),
    mend: (from, to) => this.#holds.letGo(`cut ${from}>${to}`, () => this.#network.heal(from, to)),
    setPacketLoss: (share) => this.#network.setPacketLoss(share),
  };

  readonly connections: Capabilities['connections'] = {
    reset: (one, other) => void this.#network.breakConnections(one, other),
    setLoss: (chance) => this.#network.setConnectionLoss(chance),
    setDials: (mode, from, to) => this.#network.setDials(mode, from, to),
  };

  readonly delays: Capabilities['delays'] = {
    clog: (from, to, forMs) => this.#network.clog(from, to, forMs),
    slow: (latency) => this.#network.slow(latency),
    limit: (from, to, bytesPerSecond) =>
      this.#holds.hold(`limit ${from}>${to}`, () => this.#network.limitBandwidth(from, to, bytesPerSecond)),
    unlimit: (from, to) =>
      this.#holds.letGo(`limit ${from}>${to}`, () => this.#network.limitBandwidth(from, to, undefined)),
  };

  readonly disks: Capabilities['disks'] = {
    slow: (name, latency) => this.#host(name).disk.slow(latency === undefined ? undefined : { durable: latency }),
    hang: (name, forMs) => this.#host(name).disk.stall(forMs),
    failNext: (name, operation) => {
      this.#expectDiskTrouble(name);
      this.#host(name).disk.failNext(operation, 'IO');
    },
    fill: (name) => {
      this.#expectDiskTrouble(name);
      this.#host(name).disk.setFreeBytes(0);
    },
    free: (name) => this.#host(name).disk.setFreeBytes(PLENTY_OF_BYTES),
  };

  readonly damage: Capabilities['damage'] = {
    flipBit: (name, at, bit) => {
      const server = this.#cluster.servers.get(name);
      if (server === undefined || !flipAcknowledgedBit(this.#host(name).disk, at, bit)) return;
      server.bitFlipped = true;
    },
  };

  readonly clocks: Capabilities['clocks'] = {
    jumpWall: (name, byMs) => this.#host(name).jumpWall(byMs),
    setRate: (name, clock, rate) => {
      if (clock === 'wall') this.#host(name).setWallRate(rate);
      else this.#host(name).setClockRate(rate);
    },
  };

  get clients(): readonly RunningClient[] {
    return [...this.#cluster.applications.values()].flat();
  }

  get violation(): Violation | undefined {
    return this.#cluster.violation;
  }

  get history(): readonly HistoryEvent[] {
    return this.#cluster.recorder.events;
  }

  note(event: HistoryEventBody): void {
    this.#cluster.note(event);
  }

  fail(name: string, message: string): void {
    this.#cluster.fail(name, message);
  }

  start(): void {
    this.#cluster.start();
  }

  runUntil(condition: () => boolean, maxMs: number): Promise<boolean> {
    return this.#cluster.runUntil(condition, maxMs);
  }

  stopClients(): void {
    this.#cluster.stopApplications();
  }

  canary(): Promise<void> {
    return this.#inspections.canary();
  }

  afterRecovery(): Promise<void> {
    return this.#inspections.afterRecovery();
  }

  afterQuiet(): Promise<void> {
    return this.#inspections.afterQuiet();
  }

  describe(): string {
    return describe(this.#cluster);
  }

  get struck(): ReadonlyMap<Effect, number> {
    return this.#cluster.struck;
  }

  hostOf(name: string): string | undefined {
    const { consensus, locks } = this.#cluster;
    const lock = lockOfHolder(name);
    if (lock !== undefined) return locks.holder(lock);
    if (name === PRIMARY) return primaryOf(this.#cluster);
    if (name !== LEADER) return this.#host(name).name;
    return consensus.leader === undefined ? undefined : serverHost(consensus.leader);
  }

  after(ms: number, action: () => void): void {
    this.#cluster.world.after(ms, action);
  }

  faultBegins(kind: string, excuses: boolean, hosts: readonly string[]): void {
    this.#cluster.note(faultEvent(kind, 'begin', hosts));
    if (!excuses) return;
    this.#cluster.transfers.disturbed();
    this.#underWay += 1;
  }

  faultEnded(kind: string, excuses: boolean, hosts: readonly string[]): void {
    this.#cluster.note(faultEvent(kind, 'end', hosts));
    if (!excuses) return;
    this.#underWay -= 1;
    this.#lastEndMs = this.#cluster.world.nowMs;
  }

  heal(): void {
    const { servers, replicas, applications, strangers } = this.#cluster;
    this.#healed = true;
    strangers.heal();
    this.#holds.letGoOfAll();
    this.#network.heal();
    this.#network.slow(undefined);
    for (const name of [...servers.keys(), ...replicas.keys(), ...applications.keys(), STORE_HOST]) {
      const host = this.#host(name);
      host.disk.heal();
      host.disk.slow(undefined);
      if (host.state === 'paused') host.resume();
      host.setClockRate(1);
      host.setWallRate(1);
      this.#start(name);
    }
    this.members.heal();
  }

  failed(error: unknown): void {
    this.#cluster.fail('no-unexpected-error', `a fault: ${String(error)}`);
  }

  /** Nothing else disturbs it when the last fault is over for so long that its consequences are, too: then who it asks must lead next. */
  #terminate(name: string): void {
    const { servers, scenario, transfers, world, effects } = this.#cluster;
    const server = servers.get(name);
    if (server === undefined) {
      this.#terminateReplica(name);
      return;
    }
    if (server.serves) effects.count('terminated');
    const calmMs = CALM_ELECTION_TIMEOUTS * scenario.tuning.electionTimeoutMs;
    const alone = this.#underWay <= 1;
    if (alone && world.nowMs - this.#lastEndMs >= calmMs && server.serves) transfers.stopping(server.id);
    // One that takes its time to stop would otherwise be down for good.
    server.stop(() => {
      if (this.#healed) server.boot();
    });
  }

  #terminateReplica(name: string): void {
    const replica = this.#cluster.replicas.get(name);
    if (replica?.facts === undefined) return;
    this.#cluster.effects.count('terminated');
    replica.stop(() => {
      if (this.#healed) this.#start(name);
    });
  }

  #down(name: string, how: (host: SimHost) => void): void {
    const { servers, replicas, applications } = this.#cluster;
    const host = this.#host(name);
    if (host.state === 'down') return;
    how(host);
    servers.get(name)?.died();
    replicas.get(name)?.died();
    for (const application of applications.get(name) ?? []) application.died();
  }

  #start(name: string): void {
    const { servers, replicas, applications, store } = this.#cluster;
    // It knows best whether it can: a stranger may have its machine.
    servers.get(name)?.boot();
    if (this.#host(name).state !== 'down') return;
    if (name === STORE_HOST) store.boot();
    replicas.get(name)?.boot();
    for (const application of applications.get(name) ?? []) application.boot();
  }

  #expectDiskTrouble(name: string): void {
    const server = this.#cluster.servers.get(name);
    if (server !== undefined) server.diskFaulted = true;
  }

  get #network(): Cluster['world']['network'] {
    return this.#cluster.world.network;
  }

  #host(name: string): SimHost {
    return this.#cluster.world.host(name);
  }
}
