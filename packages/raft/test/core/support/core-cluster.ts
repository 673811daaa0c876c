/**
 * A cluster of bare cores in virtual time: disks that complete late and forget what was not written when they crash, a network
 * that delays, drops, repeats and reorders. After every step it checks what Raft promises, and that every proposal, read and
 * transfer has one outcome; a broken promise is thrown.
 */

import {
  DEFAULT_RAFT_LIMITS,
  LOG_START,
  NO_SERVER,
  EntryType,
  EMPTY_CONFIGURATION,
  RaftCore,
  decodeConfiguration,
  encodeConfiguration,
  initialConfiguration,
  logIndex,
  serverId,
  term,
  type Configuration,
  type Effect,
  type Entry,
  type LogIndex,
  type MembershipChange,
  type MembershipOutcome,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type ServerId,
  type Term,
  type WriteSeq,
} from '../../../src/core/index.ts';
import { createPrng } from '../../../src/core/prng.ts';
import { BrokenPromise } from './broken-promise.ts';
import { ClusterLeadership } from './cluster-leadership.ts';
import { ClusterSafety } from './cluster-safety.ts';
import { bootOf, compactDisk, entriesOf, restartLog, writeTo, type CoreDisk, type Persist } from './core-disk.ts';
import { Outcomes } from './outcomes.ts';
import { VirtualTime } from './virtual-time.ts';

export interface ClusterOptions {
  readonly servers: number;
  /** Further servers that run and wait to be added. @default none */
  readonly spares?: number;
  readonly seed: number;
  readonly config?: Partial<RaftConfig>;
  /** Chance that a message is lost, repeated. */
  readonly loss?: number;
  readonly repeat?: number;
  readonly delayMs?: readonly [number, number];
  readonly diskMs?: readonly [number, number];
  /** A server takes a snapshot when it has applied so many entries since the last one, and keeps some of them behind it. @default never */
  readonly snapshotEvery?: number;
  /** Every leader is asked for a read once in so many milliseconds. @default none are asked but by the schedule */
  readonly readEveryMs?: number;
  /** Changes what a server does with an effect; for mutants. */
  readonly tamper?: (effect: Effect, node: Node, cluster: CoreCluster) => Effect | undefined;
  /** Changes what a server hears; for mutants. */
  readonly tamperEvent?: (event: RaftEvent, node: Node, cluster: CoreCluster) => readonly RaftEvent[];
}

interface Held {
  readonly to: ServerId;
  readonly message: Message;
  readonly after: WriteSeq;
}

export interface Node {
  readonly id: ServerId;
  core: RaftCore;
  readonly disk: CoreDisk;
  up: boolean;
  paused: boolean;
  incarnation: number;
  timerAt: number;
  persistedSeq: number;
  pendingWrites: Persist[];
  writing: boolean;
  /** No write that begins before then ends before. */
  diskHangsUntil: number;
  held: Held[];
  applied: Entry[];
  takingSnapshot: boolean;
  appliedIndex: number;
  inbox: RaftEvent[];
  /** The inbox has one event that can wait. */
  waiting: boolean;
  /** What was committed anywhere when the read was asked; until it has its outcome. */
  pendingReads: Map<number, number>;
  reads: Map<number, LogIndex | string>;
  transferPending: boolean;
  transferOutcomes: string[];
  pendingChanges: Set<number>;
}

const DELAY_MS = [0.2, 5] as const;

export class CoreCluster {
  readonly options: ClusterOptions;
  readonly nodes: Node[] = [];
  readonly ids: ServerId[];
  readonly messages: { readonly from: ServerId; readonly to: ServerId; readonly message: Message }[] = [];
  recordMessages = false;
  steps = 0;
  /** Until it is said otherwise. */
  readsSteadily = true;
  snapshotsTaken = 0;
  snapshotsRestored = 0;
  readonly #time = new VirtualTime();
  readonly #safety = new ClusterSafety(() => this.nodes);
  readonly leadership = new ClusterLeadership();
  readonly #outcomes = new Outcomes(this.#safety.committed);
  #ticket = 0;
  #random: () => number;
  /** By itself, so that it moves no other choice. */
  readonly #waits: () => number;
  #cuts = new Set<string>();

  constructor(options: ClusterOptions) {
    this.options = options;
    this.#random = createPrng(options.seed);
    this.#waits = createPrng(~options.seed);
    const all = options.servers + (options.spares ?? 0);
    this.ids = Array.from({ length: all }, (_, position) => serverId(position + 1));
    for (const id of this.ids) {
      const hardState = { term: term(0), votedFor: NO_SERVER };
      const disk: CoreDisk = { hardState, base: LOG_START, snapshot: undefined, entries: [] };
      this.nodes.push(this.#boot(id, disk, 0));
    }
    for (const node of this.nodes) this.#connectAll(node);
    if (options.readEveryMs !== undefined) this.#readAgain(options.readEveryMs);
  }

  get committed(): readonly Entry[] {
    return this.#safety.committed;
  }

  /** By ticket: how each change ended. */
  get changes(): ReadonlyMap<number, MembershipOutcome> {
    return this.#outcomes.changes;
  }

  get now(): number {
    return this.#time.now;
  }

  random(): number {
    return this.#random();
  }

  node(id: number): Node {
    const node = this.nodes[id - 1];
    if (node === undefined) throw new Error(`no server ${id}`);
    return node;
  }

  get leader(): Node | undefined {
    return this.nodes
      .filter((node) => node.up && !node.paused && node.core.status.role === 'leader')
      .toSorted((a, b) => b.core.status.term - a.core.status.term)[0];
  }

  event(id: number, event: RaftEvent): void {
    this.node(id).inbox.push(event);
    this.#schedule(0, () => this.#turn(this.node(id)));
  }

  propose(id: number, text: string): void {
    this.event(id, { type: 'propose', commands: [new TextEncoder().encode(text)] });
  }

  cut(from: number, to: number): void {
    this.#cuts.add(`${from}>${to}`);
  }

  isolate(id: number): void {
    for (const other of this.ids) {
      if (other === id) continue;
      this.cut(id, other);
      this.cut(other, id);
    }
  }

  /** Asks for a transfer, unless one is still waiting for its outcome. */
  transfer(id: number, target?: ServerId): void {
    const node = this.node(id);
    if (node.up && !node.transferPending && !node.inbox.some(({ type }) => type === 'transfer')) {
      this.event(id, { type: 'transfer', ticket: 1, target });
    }
  }

  /** The last configuration that was committed anywhere. */
  get configuration(): Configuration {
    const last = this.committed.findLast(({ type }) => type === EntryType.configuration);
    return last === undefined ? this.#initialOf(serverId(1)) : decodeConfiguration(last.data);
  }

  /** Asks for a change, and says under which ticket its outcome will be. */
  change(id: number, change: MembershipChange): number {
    this.#ticket += 1;
    this.event(id, { type: 'change-membership', ticket: this.#ticket, change });
    return this.#ticket;
  }

  /** Messages pass again. `reconnected`: as new connections, otherwise nobody is told that some were lost. */
  heal(reconnected = true): void {
    this.#cuts.clear();
    if (!reconnected) return;
    for (const node of this.nodes) if (node.up) this.#connectAll(node);
  }

  /** Everything that was not durable is gone. `refused`: the others see that the process is gone. */
  crash(id: number, refused = false): void {
    const node = this.node(id);
    if (!node.up) return;
    node.up = false;
    node.incarnation += 1;
    // A write under way may have reached the disk, unheard of.
    const underWay = node.pendingWrites[0];
    if (node.writing && underWay !== undefined && this.#random() < 0.5) writeTo(node.disk, underWay);
    for (const other of this.nodes) {
      if (other === node || !other.up) continue;
      this.event(other.id, { type: 'peer-disconnected', peer: node.id });
      if (!refused) continue;
      // A connection closes behind all that was sent on it, and only then is a refusal believed.
      const [, slowestMs] = this.options.delayMs ?? DELAY_MS;
      const { incarnation } = other;
      this.#schedule(slowestMs, () => {
        if (other.up && other.incarnation === incarnation && !node.up) {
          this.event(other.id, { type: 'peer-refused', peer: node.id });
        }
      });
    }
  }

  restart(id: number): void {
    const old = this.node(id);
    const node = this.#boot(old.id, old.disk, old.incarnation);
    this.nodes[id - 1] = node;
    this.#connectAll(node);
    for (const other of this.nodes) {
      if (other !== node && other.up) this.event(other.id, { type: 'peer-connected', peer: node.id });
    }
    this.#turnSoon(node);
  }

  /** Its next writes take so long, at least. */
  hangDisk(id: number, forMs: number): void {
    this.node(id).diskHangsUntil = this.now + forMs;
  }

  pause(id: number): void {
    this.node(id).paused = true;
  }

  resume(id: number): void {
    const node = this.node(id);
    if (!node.paused) return;
    node.paused = false;
    this.#turnSoon(node);
  }

  /** Runs until the condition holds; false when it does not within `maxMs`. */
  run(maxMs: number, until?: () => boolean): boolean {
    return this.#time.run(maxMs, until);
  }

  #boot(id: ServerId, disk: CoreDisk, incarnation: number): Node {
    restartLog(disk);
    const boot = bootOf(disk);
    const begin = disk.snapshot?.index ?? 0;
    const config: RaftConfig = {
      ...DEFAULT_RAFT_LIMITS,
      ...(this.options.seed % 2 === 0 ? { deferredFollowerDelayMs: 0 } : {}),
      ...this.options.config,
      id,
      initial: this.#initialOf(id),
      seed: this.options.seed * 7 + id * 131 + incarnation * 1009,
    };
    const node: Node = {
      id,
      core: new RaftCore(config, boot, this.now),
      disk,
      up: true,
      paused: false,
      incarnation,
      timerAt: Infinity,
      persistedSeq: 0,
      pendingWrites: [],
      writing: false,
      diskHangsUntil: 0,
      held: [],
      applied: this.committed.slice(0, begin),
      takingSnapshot: false,
      appliedIndex: begin,
      inbox: [],
      waiting: false,
      pendingReads: new Map(),
      reads: new Map(),
      transferPending: false,
      transferOutcomes: [],
      pendingChanges: new Set(),
    };
    this.#armDeadline(node);
    return node;
  }

  #initialOf(id: ServerId): Configuration {
    if (id > this.options.servers) return EMPTY_CONFIGURATION;
    const members = this.ids.slice(0, this.options.servers);
    return initialConfiguration(members.map((member) => ({ id: member, peerAddress: `host:${member}` })));
  }

  #connectAll(node: Node): void {
    for (const peer of this.ids) if (peer !== node.id) node.inbox.push({ type: 'peer-connected', peer });
  }

  #readAgain(everyMs: number): void {
    this.#schedule(everyMs, () => {
      if (!this.readsSteadily) return;
      for (const node of this.nodes) {
        this.#ticket += 1;
        if (node.core.status.role === 'leader') this.event(node.id, { type: 'read-index', ticket: -this.#ticket });
      }
      this.#readAgain(everyMs);
    });
  }

  #turnSoon(node: Node): void {
    this.#schedule(0, () => this.#turn(node));
  }

  /** As the driver does it, half of the time, one event that can wait is stepped with the next. */
  #arrive(node: Node, event: RaftEvent): void {
    node.inbox.push(event);
    if (!node.waiting && !node.paused && node.core.canWait(event) && this.#waits() < 0.5) node.waiting = true;
    else this.#turn(node);
  }

  /** One timer a server, only ever moved to an earlier time. */
  #armDeadline(node: Node): void {
    const { incarnation } = node;
    const at = Math.max(this.now, node.core.deadline);
    if (node.timerAt <= at) return;
    node.timerAt = at;
    this.#schedule(at - this.now, () => {
      if (node.incarnation !== incarnation || node.timerAt !== at) return;
      node.timerAt = Infinity;
      this.#turn(node);
    });
  }

  #turn(node: Node): void {
    if (!node.up || node.paused || this.nodes[node.id - 1] !== node) return;
    const { tamper, tamperEvent } = this.options;
    const arrived = node.inbox;
    node.inbox = [];
    node.waiting = false;
    const [only, ...more] = arrived.filter(({ type }) => type !== 'applied');
    const mustBeVoid = only !== undefined && more.length === 0 && node.core.canWait(only) && !node.transferPending;
    if (this.now >= node.core.deadline) arrived.push({ type: 'deadline' });
    for (const event of arrived) this.#outcomes.heard(node, event);
    this.leadership.stepping(node, arrived, this.now);
    const events = tamperEvent === undefined ? arrived : arrived.flatMap((event) => tamperEvent(event, node, this));
    const before = node.core.configuration.configuration;
    const effects = node.core.step(events, this.now);
    if (mustBeVoid && effects.length > 0 && arrived.at(-1)?.type !== 'deadline') {
      throw new BrokenPromise(`what could wait led to ${JSON.stringify(effects)}`);
    }
    // Commits are counted before a step lets a change go on, and behind what asks for one.
    const asked = events.some(({ type }) => type === 'change-membership');
    this.#safety.commits(node, asked ? [before, node.core.configuration.configuration] : [before]);
    for (const effect of effects) {
      const real = tamper === undefined ? effect : tamper(effect, node, this);
      if (real !== undefined) this.#perform(node, real);
    }
    this.#safety.stepped(node);
    this.leadership.stepped(node);
    this.#armDeadline(node);
    this.steps += 1;
  }

  endRead(node: Node, ticket: number, outcome: LogIndex | string): void {
    this.#outcomes.endRead(node, ticket, outcome);
  }

  /** In a cluster that serves again and is at rest, nothing waits any more. */
  checkOutcomes(): void {
    this.#outcomes.check(this.nodes);
  }

  #perform(node: Node, effect: Effect): void {
    switch (effect.type) {
      case 'persist':
        node.pendingWrites.push(effect);
        this.#write(node);
        return;
      case 'send':
        if (effect.after !== undefined && effect.after > node.persistedSeq) {
          node.held.push({ to: effect.to, message: effect.message, after: effect.after });
        } else {
          this.#deliver(node, effect.to, effect.message);
        }
        return;
      case 'apply':
        this.#apply(node, effect.upTo);
        return;
      case 'read-ready':
        for (const ticket of effect.tickets) this.endRead(node, ticket, effect.index);
        return;
      case 'read-rejected':
        for (const ticket of effect.tickets) this.endRead(node, ticket, effect.reason);
        return;
      case 'proposals-rejected':
        for (const command of effect.commands) this.#outcomes.reject(command, effect.reason);
        return;
      case 'read-entries': {
        const entries = entriesOf(node.disk, effect.from, Math.min(effect.to, effect.from + 20));
        const { peer } = effect;
        this.#schedule(1, () => {
          node.inbox.push({ type: 'entries-read', peer, term: effect.term, entries });
          this.#turn(node);
        });
        return;
      }
      case 'restore':
        this.snapshotsRestored += 1;
        node.appliedIndex = effect.position.index;
        node.applied = this.committed.slice(0, effect.position.index);
        return;
      case 'compact':
        compactDisk(node.disk, effect.upTo);
        return;
      case 'send-snapshot':
        this.#sendSnapshot(node, effect.peer, effect.term);
        return;
      case 'lift-vote-ban':
        throw new BrokenPromise('a server that never lost its log has its ban on voting lifted');
      case 'transfer-ended':
        this.#outcomes.endTransfer(node, effect.outcome);
        return;
      case 'membership-ended':
        this.#outcomes.endChange(node, effect);
        return;
    }
  }

  /** Over a connection of its own, which breaks too, and is tried again for as long as the core says so. */
  #sendSnapshot(node: Node, peer: ServerId, inTerm: Term): void {
    const { incarnation } = node;
    this.#schedule(this.#between([1, 60]), () => {
      const { snapshot } = node.disk;
      const leads = node.incarnation === incarnation && node.core.status.term === inTerm;
      if (!node.up || !leads || !node.core.needsSnapshot(peer) || snapshot === undefined) return;
      const target = this.node(peer);
      const broken = this.#cuts.has(`${node.id}>${peer}`) || this.#random() < (this.options.loss ?? 0);
      if (!target.up || broken) {
        this.#sendSnapshot(node, peer, inTerm);
        return;
      }
      if (snapshot.index > (target.disk.snapshot?.index ?? 0)) target.disk.snapshot = snapshot;
      target.inbox.push({ type: 'snapshot-received', from: node.id, term: inTerm, position: snapshot });
      this.#turn(target);
      this.#schedule(this.#between(this.options.delayMs ?? DELAY_MS), () => {
        if (!node.up || node.incarnation !== incarnation) return;
        node.inbox.push({ type: 'snapshot-sent', peer, term: inTerm, index: snapshot.index });
        this.#turn(node);
      });
    });
  }

  #takeSnapshot(node: Node): void {
    const every = this.options.snapshotEvery ?? Infinity;
    if (node.takingSnapshot || node.appliedIndex - (node.disk.snapshot?.index ?? 0) < every) return;
    const index = logIndex(node.appliedIndex);
    const entryTerm = node.core.termAt(index);
    if (entryTerm === undefined) return;
    const configuration = encodeConfiguration(node.core.configurationAsOf(index).configuration);
    const { incarnation } = node;
    node.takingSnapshot = true;
    const finish = (): void => {
      if (node.incarnation !== incarnation) return;
      if (node.core.stableIndex < index) {
        this.#schedule(1, finish);
        return;
      }
      node.takingSnapshot = false;
      if (index <= (node.disk.snapshot?.index ?? 0)) return;
      const position = { index, term: entryTerm, configuration };
      node.disk.snapshot = position;
      this.snapshotsTaken += 1;
      const compactTo = logIndex(Math.max(0, index - Math.floor(this.#random() * every)));
      node.inbox.push({ type: 'snapshot-taken', position, compactTo });
      this.#turn(node);
    };
    this.#schedule(this.#between(this.options.diskMs ?? [0.1, 3]), finish);
  }

  #write(node: Node): void {
    const next = node.pendingWrites[0];
    if (node.writing || next === undefined) return;
    node.writing = true;
    const { incarnation } = node;
    const takesMs = this.#between(this.options.diskMs ?? [0.1, 3]);
    this.#schedule(Math.max(takesMs, node.diskHangsUntil - this.now), () => {
      if (node.incarnation !== incarnation) return;
      node.writing = false;
      node.pendingWrites.shift();
      writeTo(node.disk, next);
      node.persistedSeq = next.seq;
      this.#write(node);
      this.#arrive(node, { type: 'persisted', seq: next.seq });
      const ready = node.held.filter((held) => held.after <= node.persistedSeq);
      node.held = node.held.filter((held) => held.after > node.persistedSeq);
      for (const held of ready) this.#deliver(node, held.to, held.message);
    });
  }

  #deliver(from: Node, to: ServerId, message: Message): void {
    if (this.recordMessages) this.messages.push({ from: from.id, to, message });
    if (this.#cuts.has(`${from.id}>${to}`) || this.#random() < (this.options.loss ?? 0)) return;
    const copies = this.#random() < (this.options.repeat ?? 0) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      this.#schedule(this.#between(this.options.delayMs ?? DELAY_MS), () => {
        const node = this.node(to);
        if (!node.up) return;
        this.#arrive(node, { type: 'message', from: from.id, message });
      });
    }
  }

  #apply(node: Node, upTo: LogIndex): void {
    while (node.appliedIndex < upTo) {
      const from = logIndex(node.appliedIndex + 1);
      const entries =
        node.core.entries(from, upTo, 1e9) ?? entriesOf(node.disk, from, Math.min(upTo, node.core.memoryFrom - 1));
      if (entries.length === 0) throw new BrokenPromise(`server ${node.id} can't apply ${from}`);
      for (const entry of entries) {
        node.appliedIndex = entry.index;
        node.applied.push(entry);
        this.#safety.applied(node, entry);
      }
    }
    node.inbox.push({ type: 'applied', index: logIndex(node.appliedIndex) });
    this.#takeSnapshot(node);
  }

  #between([low, high]: readonly [number, number]): number {
    return low + (high - low) * this.#random();
  }

  #schedule(delayMs: number, run: () => void): void {
    this.#time.schedule(delayMs, run);
  }
}
