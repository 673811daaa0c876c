/**
 * A random walk of an ensemble of bare cores that changes its leader all the time: elections by the servers that the walk picks,
 * logs brought up to date by a few messages at a time, crashes with writes under way. In the time that it takes a realistic
 * simulation to elect two leaders it has had fifty, so that it reaches the rules that need several leaderships in a certain order
 * (entries of older terms, votes that a crash forgets, suffixes that a deposed leader left).
 */

import { serverId, type Message, type ServerId, type Term } from '@holdfast/raft/core';
import type { Random } from '@holdfast/runtime';

import type { Snapshot } from '../../../cores/disk.ts';
import { BareServer } from './bare-server.ts';
import { Laws } from './laws.ts';

/** Longer than any election timeout, in heartbeats. */
const PATIENCE_BEATS = 21;
const ELECTION_ROUNDS = 6;
const DUEL_CHANCE = 0.2;
const TRANSFER_CHANCE = 0.2;
const SNAPSHOT_CHANCE = 0.3;
const DELIVERY_CHANCE = 0.5;
const BURST_CHANCE = 0.1;
const STRAY_CHANCE = 0.1;
/** Entries of a stray append, at most. */
const STRAY_ENTRIES = 2;
/** Commands, at most. */
const BURST = 5;
/** Entries that a snapshot leaves in the log, at most. */
const SPARED_ENTRIES = 2;

/** What happens in a walk beyond elections, appends and crashes. */
export interface WalkOptions {
  /** Leaders are asked to transfer leadership. @default false */
  readonly transfers?: boolean;
  /** Servers take snapshots, forget what these hold, and install those of others. @default false */
  readonly snapshots?: boolean;
}

export interface WalkResult {
  readonly laws: Laws;
  /** Snapshots that came to a server whose log had another entry in the place of their last one. */
  readonly conflictingSnapshots: number;
  /** Stray appends that ended before a place where the receiver's log went on otherwise than its sender's. */
  readonly shortAppends: number;
  readonly simulatedMs: number;
}

/** @throws BrokenLawError, and InvariantError of a core */
export function walk(
  random: Random,
  servers: number,
  steps: number,
  { transfers = false, snapshots = false }: WalkOptions = {},
): WalkResult {
  const ensemble = new Ensemble(random, servers);
  for (let step = 0; step < steps; step += 1) {
    if (transfers && random.next() < TRANSFER_CHANCE) ensemble.transferLeadership(step);
    if (snapshots && random.next() < SNAPSHOT_CHANCE) ensemble.takeSnapshot();
    if (snapshots && random.next() < BURST_CHANCE) ensemble.proposeMany(step);
    if (random.next() < STRAY_CHANCE) ensemble.sendStray();
    ensemble.disturb(step);
  }
  const { laws, nowMs, conflictingSnapshots, shortAppends } = ensemble;
  return { laws, conflictingSnapshots, shortAppends, simulatedMs: nowMs };
}

type Append = Extract<Message, { type: 'append' }>;

/** A snapshot on its way. */
interface Parcel {
  readonly snapshot: Snapshot;
  readonly inTerm: Term;
}

class Ensemble {
  readonly laws = new Laws();
  conflictingSnapshots = 0;
  shortAppends = 0;
  readonly #random: Random;
  readonly #servers: readonly BareServer[];
  readonly #electionChance: number;
  readonly #writeChance: number;
  readonly #links = new Map<string, Message[]>();
  readonly #parcels = new Map<string, Parcel>();
  /** Stray appends, and whether what they are answered reaches anybody. */
  readonly #strays = new WeakMap<Message, { readonly answered: boolean }>();

  constructor(random: Random, count: number) {
    this.#random = random;
    this.#electionChance = 0.02 + 0.2 * random.next();
    this.#writeChance = 0.4 + 0.55 * random.next();
    const ids = Array.from({ length: count }, (_, position) => serverId(position + 1));
    const events = {
      post: (from: BareServer, to: ServerId, message: Message) => void this.#link(from.id, to).push(message),
      postSnapshot: (from: BareServer, to: ServerId, snapshot: Snapshot, inTerm: Term) =>
        void this.#parcels.set(`${from.id}>${to}`, { snapshot, inTerm }),
      restored: this.laws.restored.bind(this.laws),
      applied: this.laws.applied.bind(this.laws),
      readReady: this.laws.readReady.bind(this.laws),
      stepped: this.laws.stepped.bind(this.laws),
    };
    const seed = random.integer(2 ** 31);
    const inflight = 1 + random.integer(3);
    this.#servers = ids.map((id) => new BareServer(id, ids, seed, inflight, events));
    for (const server of this.#servers) server.restart(0);
  }

  get nowMs(): number {
    return Math.max(...this.#servers.map((server) => server.nowMs));
  }

  disturb(step: number): void {
    const draw = this.#random.next();
    const leaders = this.#servers.filter(leads);
    const leader = leaders.length === 0 ? undefined : this.#pick(leaders);
    if (leader === undefined || draw < this.#electionChance) this.#elect();
    else if (draw < 0.65) this.#exchange(leader, this.#other(leader), 1 + this.#random.integer(6));
    else if (draw < 0.72) leader.step({ type: 'propose', commands: [Uint8Array.of(step >> 8, step & 255)] });
    else if (draw < 0.76) this.#read(leader, step);
    else if (draw < 0.82) leader.pass(true);
    else if (draw < 0.88) this.#pick(this.#servers).completeWrites();
    else if (draw < 0.96) this.#crash(this.#pick(this.#servers));
    else this.#breakLink(leader, this.#other(leader));
  }

  takeSnapshot(): void {
    this.#pick(this.#servers).takeSnapshot(this.#random.integer(SPARED_ENTRIES + 1));
  }

  /** A leader that is deposed with these in its log has a long one, which the next leaders' snapshots may end within. */
  proposeMany(step: number): void {
    const count = 1 + this.#random.integer(BURST);
    const commands = Array.from({ length: count }, (_, number) => Uint8Array.of(step >> 8, step & 255, number));
    const leaders = this.#servers.filter(leads);
    if (leaders.length > 0) this.#pick(leaders).step({ type: 'propose', commands });
  }

  /** An append that leaders of ours seldom send, and every leader may: in the order of its connection, and answered or not. */
  sendStray(): void {
    const leaders = this.#servers.filter(leads);
    if (leaders.length === 0) return;
    const leader = this.#pick(leaders);
    const append = leader.anyAppend(this.#random, STRAY_ENTRIES);
    this.#strays.set(append, { answered: this.#random.next() < 0.5 });
    this.#link(leader.id, this.#other(leader).id).push(append);
  }

  /** A leader looks for a follower that has everything. Now and then all hear each other until somebody leads; else the walk decides. */
  transferLeadership(ticket: number): void {
    for (const leader of this.#servers.filter(leads)) leader.step({ type: 'transfer', ticket, target: undefined });
    if (this.#random.next() < 0.5) return;
    for (let round = 0; round < ELECTION_ROUNDS; round += 1) {
      for (const one of this.#servers) for (const two of this.#servers) if (one !== two) this.#exchange(one, two, 2);
    }
  }

  /** One server stands, now and then two at once, and the others of a majority hear them; the rest hear nothing. */
  #elect(): void {
    const shuffled = this.#shuffled(this.#servers);
    const candidates = shuffled.splice(0, this.#random.next() < DUEL_CHANCE ? 2 : 1);
    const voters = shuffled.slice(0, Math.floor(this.#servers.length / 2));
    for (const server of [...candidates, ...voters]) this.#retire(server);
    for (const voter of voters) {
      // Owes nobody its vote any more, and does not stand itself.
      for (let beat = 0; beat < PATIENCE_BEATS; beat += 1) voter.pass(false);
      for (const candidate of candidates) this.#breakLink(candidate, voter);
    }
    for (const candidate of candidates) {
      for (let beat = 0; beat < PATIENCE_BEATS && candidate.status.role === 'follower'; beat += 1) candidate.pass(true);
    }
    for (let round = 0; round < ELECTION_ROUNDS; round += 1) {
      for (const voter of voters) {
        for (const candidate of candidates) if (!leads(candidate)) this.#exchange(candidate, voter, 1);
      }
      if (candidates.every(leads)) return;
    }
  }

  /** A leader that hears nobody steps down. */
  #retire(server: BareServer): void {
    for (let beat = 0; beat < 2 * PATIENCE_BEATS && leads(server); beat += 1) server.pass(true);
  }

  /** Up to `count` messages each way. */
  #exchange(one: BareServer, two: BareServer, count: number): void {
    this.#maybeWrite(one);
    this.#deliver(one, two, count);
    this.#maybeWrite(two);
    this.#deliver(two, one, count);
    this.#maybeWrite(one);
  }

  #deliver(from: BareServer, to: BareServer, count: number): void {
    const messages = this.#link(from.id, to.id).splice(0, count);
    for (const message of messages) {
      const stray = this.#strays.get(message);
      if (stray !== undefined && message.type === 'append') this.#countStray(from, to, message);
      to.receive(from.id, message, stray?.answered ?? true);
    }
    this.#deliverSnapshot(from, to);
  }

  #countStray(from: BareServer, to: BareServer, { prevIndex, entries }: Append): void {
    const [theirs, behind] = [from.log(), prevIndex + entries.length];
    const conflicts = to.log().some(({ index, term }) => index > behind && (theirs[index - 1]?.term ?? term) !== term);
    if (conflicts) this.shortAppends += 1;
  }

  /** It may come late: its sender need not lead any more. */
  #deliverSnapshot(from: BareServer, to: BareServer): void {
    const name = `${from.id}>${to.id}`;
    const parcel = this.#parcels.get(name);
    if (parcel === undefined || this.#random.next() >= DELIVERY_CHANCE) return;
    this.#parcels.delete(name);
    const { snapshot, inTerm } = parcel;
    const { index, term } = snapshot.position;
    if ((to.log()[index - 1]?.term ?? term) !== term) this.conflictingSnapshots += 1;
    to.receiveSnapshot(from.id, snapshot, inTerm);
    from.step({ type: 'snapshot-sent', peer: to.id, term: inTerm, index });
  }

  #maybeWrite(server: BareServer): void {
    if (this.#random.next() < this.#writeChance) server.completeWrites();
  }

  #read(leader: BareServer, ticket: number): void {
    this.laws.readAsked(ticket);
    leader.step({ type: 'read-index', ticket });
  }

  #crash(server: BareServer): void {
    const finished = this.#random.integer(server.writesUnderWay + 1);
    for (const other of this.#servers) {
      if (other !== server) this.#breakLink(server, other);
    }
    server.restart(finished);
  }

  /** What was under way is lost, and both sides know. */
  #breakLink(one: BareServer, two: BareServer): void {
    this.#link(one.id, two.id).length = 0;
    this.#link(two.id, one.id).length = 0;
    this.#parcels.delete(`${one.id}>${two.id}`);
    this.#parcels.delete(`${two.id}>${one.id}`);
    for (const [server, { id: peer }] of [
      [one, two],
      [two, one],
    ] as const) {
      server.step({ type: 'peer-disconnected', peer });
      server.step({ type: 'peer-connected', peer });
      server.sendSnapshotAgain(peer);
    }
  }

  #link(from: ServerId, to: ServerId): Message[] {
    const name = `${from}>${to}`;
    const link = this.#links.get(name) ?? [];
    this.#links.set(name, link);
    return link;
  }

  #pick(servers: readonly BareServer[]): BareServer {
    const server = servers[this.#random.integer(servers.length)];
    if (server === undefined) throw new RangeError('nothing to pick from');
    return server;
  }

  #other(than: BareServer): BareServer {
    return this.#pick(this.#servers.filter((server) => server !== than));
  }

  #shuffled(servers: readonly BareServer[]): BareServer[] {
    return servers
      .map((server) => ({ server, draw: this.#random.next() }))
      .toSorted((left, right) => left.draw - right.draw)
      .map(({ server }) => server);
  }
}

function leads(server: BareServer): boolean {
  return server.status.role === 'leader';
}
