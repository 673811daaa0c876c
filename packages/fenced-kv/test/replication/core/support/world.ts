/** A group of cores, with disks, a network and a configuration node that do what a schedule says. */

import {
  ReplicationCore,
  type Configuration,
  type Effect,
  type Message,
  type ReplicationEvent,
  type ReplicationOptions,
  type Rules,
  type VersionedConfiguration,
} from '../../../../src/replication/core/index.ts';
import { readPart, writeOf } from './buckets.ts';
import { Ledger } from './ledger.ts';
import { ReplicaDisk } from './replica-disk.ts';

export interface WorldOptions {
  readonly replicas: number;
  readonly rules: Rules;
  /** Messages and configuration writes leave before what they tell is durable: a planted bug. */
  readonly revealsTooEarly?: boolean;
  /** Entries count as applied before that is durable: a planted bug. */
  readonly appliesTooEarly?: boolean;
  /** A copy begins on top of what is there: a planted bug. */
  readonly keepsBuckets?: boolean;
}

interface Held {
  readonly after: number;
  readonly release: () => void;
}

export interface Node {
  readonly id: string;
  /** undefined while it is down. */
  core: ReplicationCore | undefined;
  readonly disk: ReplicaDisk;
  held: Held[];
  durableSeq: number;
  /** Parts of copies that are to be read. */
  reads: Extract<Effect, { type: 'read-copy' }>[];
  /** Its disk is gone for good. */
  lost: boolean;
  /** No message gets to it or from it. */
  cut: boolean;
  /** It hears nothing of the configuration, and its writes of it do not arrive. */
  hidden: boolean;
  /** It does nothing, and all waits for it. */
  paused: boolean;
}

interface Packet {
  readonly from: Node;
  readonly to: string;
  readonly message: Message;
}

interface ConfigurationWrite {
  readonly from: Node;
  readonly expectedVersion: number;
  readonly configuration: Configuration;
}

export class World {
  readonly ledger = new Ledger();
  readonly nodes: readonly Node[];
  readonly minInSync: number;
  /** All versions, the one in force last. */
  readonly configurations: VersionedConfiguration[];
  readonly packets: Packet[] = [];
  /** Repeated packets that come very late. */
  readonly late: Packet[] = [];
  readonly configurationWrites: ConfigurationWrite[] = [];
  /** Copies that came to their end. */
  copies = 0;
  readonly #options: WorldOptions;
  #tickets = 0;
  #tokens = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    const ids = Array.from({ length: options.replicas }, (_, at) => `r${at + 1}`);
    this.minInSync = Math.floor(options.replicas / 2) + 1;
    this.configurations = [{ version: 1, epoch: 0, primary: 'r1', inSync: ids }];
    this.nodes = ids.map((id) => ({
      id,
      core: undefined,
      disk: new ReplicaDisk({ keepsBuckets: options.keepsBuckets === true }),
      held: [],
      durableSeq: 0,
      reads: [],
      lost: false,
      cut: false,
      hidden: false,
      paused: false,
    }));
    for (const node of this.nodes) this.start(node);
  }

  get configuration(): VersionedConfiguration {
    const last = this.configurations.at(-1);
    if (last === undefined) throw new Error('the world begins with a configuration');
    return last;
  }

  get leaders(): readonly Node[] {
    return this.nodes.filter(({ core }) => core !== undefined && core.status.role !== 'replica');
  }

  start(node: Node): void {
    if (node.core !== undefined || node.lost) return;
    const group = this.nodes.map(({ id }) => id);
    const { minInSync } = this;
    const limits = { maxAppendEntries: 3, maxAppendBytes: 30, maxInFlightEntries: 5, maxInFlightAppends: 2 };
    const options: ReplicationOptions = { self: node.id, group, minInSync, ...limits };
    node.core = new ReplicationCore(options, node.disk.start(), this.#options.rules);
    node.durableSeq = 0;
    node.paused = false;
  }

  /** Of the writes that were not durable, the first `kept` have reached the disk. Clients get no answer. */
  crash(node: Node, kept: number): void {
    if (node.core === undefined) return;
    node.disk.crash(kept);
    node.core = undefined;
    node.held = [];
    node.reads = [];
  }

  /** A part of a copy is read; or the first write that is under way ends. */
  work(node: Node): void {
    if (node.paused) return;
    if (node.reads.length > 0) return this.#readCopy(node);
    const ended = node.disk.sync();
    if (ended === undefined) return;
    if (ended.type === 'apply') return this.step(node, { type: 'applied', upTo: ended.upTo });
    const { seq } = ended;
    node.durableSeq = seq;
    const ready = node.held.filter(({ after }) => after <= seq);
    node.held = node.held.filter(({ after }) => after > seq);
    for (const { release } of ready) release();
    this.step(node, { type: 'persisted', seq });
  }

  /** A message to a replica that is paused waits in its kernel. */
  deliver(packet: Packet): void {
    const to = this.nodes.find(({ id }) => id === packet.to);
    if (to === undefined || to.cut || packet.from.cut) return;
    if (to.paused) this.packets.push(packet);
    else this.step(to, { type: 'message', from: packet.from.id, message: packet.message });
  }

  /** The ensemble makes the write if the version is the one that it names. */
  land(write: ConfigurationWrite): void {
    const { version } = this.configuration;
    if (write.from.hidden || write.expectedVersion !== version) return;
    this.configurations.push({ ...write.configuration, version: version + 1 });
  }

  tell(node: Node): void {
    if (!node.hidden) this.step(node, { type: 'configuration', configuration: this.configuration });
  }

  elect(node: Node, configuration: VersionedConfiguration): void {
    if (node.hidden) return;
    this.#tokens += 10;
    this.step(node, { type: 'elected', token: this.#tokens, configuration });
  }

  forget(node: Node, kept: number): void {
    if (node.core === undefined) return;
    this.step(node, { type: 'forget', upTo: node.core.status.commit - kept });
  }

  propose(node: Node): void {
    if (node.core === undefined || node.paused) return;
    this.#tickets += 1;
    const payload = writeOf(this.#tickets);
    this.ledger.invoked(this.#tickets, payload);
    this.step(node, { type: 'propose', ticket: this.#tickets, payload });
  }

  read(node: Node): void {
    if (node.core === undefined || node.paused) return;
    this.#tickets += 1;
    this.ledger.invoked(this.#tickets, undefined);
    this.step(node, { type: 'read', ticket: this.#tickets });
  }

  step(node: Node, event: ReplicationEvent): void {
    const { core } = node;
    if (core === undefined || node.paused) return;
    for (const effect of core.step(event)) this.#carryOut(node, core, effect);
  }

  #readCopy(node: Node): void {
    const read = node.reads.shift();
    if (read === undefined) return;
    const { replica, copy, from } = read;
    this.step(node, { type: 'copy-read', replica, copy, part: readPart(node.disk.buckets, from) });
  }

  #carryOut(node: Node, core: ReplicationCore, effect: Effect): void {
    const { base, commit } = core.status;
    const has = { base, entries: core.entries, buckets: node.disk.view };
    switch (effect.type) {
      case 'persist':
        if (effect.copy?.step === 'end') this.copies += 1;
        return node.disk.write(effect);
      case 'apply':
        node.disk.apply(effect.upTo, core.entries);
        if (this.#options.appliesTooEarly === true) this.step(node, { type: 'applied', upTo: effect.upTo });
        return;
      case 'send':
        return this.#when(node, effect.after, () => {
          const packet = { from: node, to: effect.to, message: effect.message };
          this.packets.push(packet);
          // What drops a replica is the worst that can come late.
          if (packet.message.type === 'copy') this.late.push(packet);
        });
      case 'write-configuration': {
        const { expectedVersion, configuration } = effect;
        return this.#when(node, effect.after, () => {
          this.configurationWrites.push({ from: node, expectedVersion, configuration });
        });
      }
      case 'read-copy':
        node.reads.push(effect);
        return;
      case 'acknowledged':
        return this.ledger.acknowledged(effect.ticket, effect.index, effect.epoch, has);
      case 'read-ready':
        // It is answered from what is there now, which may be newer than it needs.
        return this.ledger.read(effect.ticket, commit, effect.epoch, has);
      case 'serving':
        return this.ledger.serving(effect.epoch, effect.barrier, has);
      case 'rejected':
        return this.ledger.rejected(effect.tickets);
      case 'unknown':
        return this.ledger.unknown(effect.tickets);
      case 'stepped-down':
    }
  }

  #when(node: Node, after: number | undefined, release: () => void): void {
    const now = after === undefined || after <= node.durableSeq || this.#options.revealsTooEarly === true;
    if (now) release();
    else node.held.push({ after, release });
  }
}
