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
  type Boot,
  type Configuration,
  type ConfiguredMember,
  type Effect,
  type Entry,
  type HardState,
  type LogIndex,
  type LogPosition,
  type MembershipChange,
  type MembershipOutcome,
  type Message,
  type RaftConfig,
  type RaftEvent,
  type ServerId,
  type SnapshotPosition,
  type Term,
  type TermMark,
  type WriteSeq,
} from '../../../src/core/index.ts';

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
  /** Changes what a server does with an effect; for mutants. */
  readonly tamper?: (effect: Effect, node: Node, cluster: CoreCluster) => Effect | undefined;
  /** Changes what a server hears; for mutants. */
  readonly tamperEvent?: (event: RaftEvent, node: Node, cluster: CoreCluster) => readonly RaftEvent[];
}

interface Disk {
  hardState: HardState;
  base: LogPosition;
  snapshot: SnapshotPosition | undefined;
  /** Those behind the base. */
  entries: Entry[];
}

interface Held {
  readonly to: ServerId;
  readonly message: Message;
  readonly after: WriteSeq;
}

export interface Node {
  readonly id: ServerId;
  core: RaftCore;
  readonly disk: Disk;
  up: boolean;
  paused: boolean;
  incarnation: number;
  timerAt: number;
  persistedSeq: number;
  pendingWrites: Extract<Effect, { type: 'persist' }>[];
  writing: boolean;
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

/** What was asked of a server that was then in this term of this life. */
export interface Proposal {
  readonly server: ServerId;
  readonly incarnation: number;
  readonly term: number;
  rejected: string | undefined;
}

interface Scheduled {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

const DELAY_MS = [0.2, 5] as const;

export class BrokenPromise extends Error {}

export class CoreCluster {
  readonly options: ClusterOptions;
  readonly nodes: Node[] = [];
  readonly ids: ServerId[];
  now = 0;
  readonly committed: Entry[] = [];
  readonly leaders = new Map<number, ServerId>();
  /** By command, which must be used once. */
  readonly proposals = new Map<string, Proposal>();
  /** By ticket: how each change ended. */
  readonly changes = new Map<number, MembershipOutcome>();
  readonly messages: { readonly from: ServerId; readonly to: ServerId; readonly message: Message }[] = [];
  recordMessages = false;
  steps = 0;
  snapshotsTaken = 0;
  snapshotsRestored = 0;
  #queue: Scheduled[] = [];
  #order = 0;
  #ticket = 0;
  #checkedCommit = 0;
  #random: () => number;
  /** By itself, so that it moves no other choice. */
  readonly #waits: () => number;
  #cuts = new Set<string>();
  #lastTerm = new Map<ServerId, number>();

  constructor(options: ClusterOptions) {
    this.options = options;
    this.#random = mulberry(options.seed);
    this.#waits = mulberry(~options.seed);
    const all = options.servers + (options.spares ?? 0);
    this.ids = Array.from({ length: all }, (_, position) => serverId(position + 1));
    for (const id of this.ids) {
      const hardState = { term: term(0), votedFor: NO_SERVER };
      const disk: Disk = { hardState, base: LOG_START, snapshot: undefined, entries: [] };
      this.nodes.push(this.#boot(id, disk, 0));
    }
    for (const node of this.nodes) this.#connectAll(node);
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
  run(maxMs: number, until: () => boolean = () => false): boolean {
    const end = this.now + maxMs;
    for (;;) {
      if (until()) return true;
      const next = this.#pop();
      if (next === undefined || next.at > end) {
        if (next !== undefined) this.#push(next);
        this.now = end;
        return until();
      }
      this.now = Math.max(this.now, next.at);
      next.run();
    }
  }

  #boot(id: ServerId, disk: Disk, incarnation: number): Node {
    restartLog(disk);
    const marks: TermMark[] = [];
    for (const entry of disk.entries) {
      if (marks.at(-1)?.term !== entry.term) marks.push({ term: entry.term, firstIndex: entry.index });
    }
    const { hardState, base, snapshot } = disk;
    const configurations = disk.entries.filter(({ type }) => type === EntryType.configuration);
    const boot: Boot = { hardState, base, lastIndex: lastIndexOf(disk), terms: marks, snapshot, configurations };
    const begin = snapshot?.index ?? 0;
    const config: RaftConfig = {
      ...DEFAULT_RAFT_LIMITS,
      ...(this.options.seed % 2 === 0 ? { rearDelayMs: 0 } : {}),
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
    for (const event of arrived) this.#note(node, event);
    const events = tamperEvent === undefined ? arrived : arrived.flatMap((event) => tamperEvent(event, node, this));
    const before = node.core.configuration.configuration;
    const effects = node.core.step(events, this.now);
    if (mustBeVoid && effects.length > 0 && arrived.at(-1)?.type !== 'deadline') {
      throw new BrokenPromise(`what could wait led to ${JSON.stringify(effects)}`);
    }
    // Commits are counted before a step lets a change go on, and behind what asks for one.
    const asked = events.some(({ type }) => type === 'change-membership');
    this.#checkMajorities(node, asked ? [before, node.core.configuration.configuration] : [before]);
    for (const effect of effects) {
      const real = tamper === undefined ? effect : tamper(effect, node, this);
      if (real !== undefined) this.#perform(node, real);
    }
    this.#checkNode(node);
    this.#armDeadline(node);
    this.steps += 1;
  }

  /** Remembers what will have to have an outcome. */
  #note(node: Node, event: RaftEvent): void {
    if (event.type === 'read-index') node.pendingReads.set(event.ticket, this.committed.length);
    if (event.type === 'transfer') node.transferPending = true;
    if (event.type === 'change-membership') node.pendingChanges.add(event.ticket);
    if (event.type !== 'propose') return;
    for (const command of event.commands) {
      const text = decode(command);
      if (this.proposals.has(text)) throw new Error(`"${text}" is proposed twice`);
      const { incarnation } = node;
      this.proposals.set(text, { server: node.id, incarnation, term: node.core.status.term, rejected: undefined });
    }
  }

  /** Linearizability: what was committed anywhere before the read was asked is at or below the index that it got. */
  settleRead(node: Node, ticket: number, outcome: LogIndex | string): void {
    const committedBefore = node.pendingReads.get(ticket);
    if (committedBefore === undefined) throw new BrokenPromise(`read ${ticket} has a second outcome`);
    if (typeof outcome === 'number' && outcome < committedBefore) {
      throw new BrokenPromise(`a read got ${outcome} when ${committedBefore} was committed before it`);
    }
    node.pendingReads.delete(ticket);
    node.reads.set(ticket, outcome);
  }

  #reject(command: Uint8Array, reason: string): void {
    const proposal = this.proposals.get(decode(command));
    if (proposal === undefined || proposal.rejected !== undefined) throw new BrokenPromise('rejected twice');
    proposal.rejected = reason;
  }

  /** In a cluster that serves again and is at rest, nothing waits any more. */
  checkOutcomes(): void {
    for (const node of this.nodes) {
      if (node.pendingReads.size > 0) throw new BrokenPromise(`reads of server ${node.id} have no outcome`);
      if (node.transferPending) throw new BrokenPromise(`a transfer of server ${node.id} has no outcome`);
      if (node.pendingChanges.size > 0) throw new BrokenPromise(`a change at server ${node.id} has no outcome`);
    }
    const committed = new Set(this.committed.map(({ data }) => decode(data)));
    const commands = this.committed.filter(({ type }) => type === EntryType.command);
    if (commands.length !== new Set(commands.map(({ data }) => decode(data))).size) {
      throw new BrokenPromise('a command is committed twice');
    }
    for (const [text, { server, incarnation, term: asked, rejected }] of this.proposals) {
      if (rejected !== undefined && committed.has(text))
        throw new BrokenPromise(`"${text}" was rejected and committed`);
      if (rejected !== undefined || committed.has(text)) continue;
      const node = this.node(server);
      const { role, term: present } = node.core.status;
      const leadershipLost = node.incarnation !== incarnation || present > asked || role !== 'leader';
      if (!leadershipLost) throw new BrokenPromise(`"${text}" has no outcome`);
    }
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
        for (const ticket of effect.tickets) this.settleRead(node, ticket, effect.index);
        return;
      case 'read-rejected':
        for (const ticket of effect.tickets) this.settleRead(node, ticket, effect.reason);
        return;
      case 'proposals-rejected':
        for (const command of effect.commands) this.#reject(command, effect.reason);
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
        if (!node.transferPending) throw new BrokenPromise('a transfer has a second outcome');
        node.transferPending = false;
        node.transferOutcomes.push(effect.outcome);
        return;
      case 'membership-ended':
        if (!node.pendingChanges.delete(effect.ticket)) throw new BrokenPromise('a change has a second outcome');
        this.changes.set(effect.ticket, effect.outcome);
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
    this.#schedule(this.#between(this.options.diskMs ?? [0.1, 3]), () => {
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
        this.#checkApplied(node, entry);
      }
    }
    node.inbox.push({ type: 'applied', index: logIndex(node.appliedIndex) });
    this.#takeSnapshot(node);
  }

  /** State-machine safety: no two servers apply different entries at one index. */
  #checkApplied(node: Node, entry: Entry): void {
    const known = this.committed[entry.index - 1];
    if (known === undefined) {
      if (entry.index !== this.committed.length + 1) throw new BrokenPromise('applied with a gap');
      this.committed.push(entry);
    } else if (known.term !== entry.term || Buffer.compare(known.data, entry.data) !== 0) {
      throw new BrokenPromise(`server ${node.id} applied another entry at ${entry.index}`);
    }
  }

  #checkNode(node: Node): void {
    const { role, term: present, commitIndex } = node.core.status;
    if (present < (this.#lastTerm.get(node.id) ?? 0) && node.up) throw new BrokenPromise(`term of ${node.id} fell`);
    this.#lastTerm.set(node.id, Math.min(present, node.disk.hardState.term));
    if (role === 'leader') {
      const known = this.leaders.get(present);
      if (known !== undefined && known !== node.id) throw new BrokenPromise(`two leaders in term ${present}`);
      this.leaders.set(present, node.id);
      if (node.core.status.lastIndex < this.committed.length && !this.#superseded(node)) {
        throw new BrokenPromise(`leader ${node.id} of term ${present} lacks committed entries`);
      }
    }
    if (commitIndex > node.core.status.lastIndex) throw new BrokenPromise('commit beyond the log');
  }

  /**
   * What a leader commits is on disk at a majority of the voters, and at one of the voters that are left while it is joint; by the
   * configuration with which it began the step, or one that was asked for in it.
   */
  #checkMajorities(node: Node, configurations: readonly Configuration[]): void {
    const { role, commitIndex } = node.core.status;
    if (role !== 'leader' || commitIndex <= this.#checkedCommit) return;
    const own = node.core.termAt(commitIndex);
    const holds = (id: ServerId): boolean => {
      const { base, entries } = this.node(id).disk;
      return commitIndex <= base.index || entries[commitIndex - base.index - 1]?.term === own;
    };
    const majority = (voters: readonly ConfiguredMember[]): boolean =>
      voters.filter(({ id }) => holds(id)).length * 2 > voters.length;
    const enough = configurations.some(({ members }) => {
      const outgoing = members.filter((member) => member.outgoing);
      return (
        majority(members.filter((member) => member.role === 'voter')) && (outgoing.length === 0 || majority(outgoing))
      );
    });
    if (!enough) throw new BrokenPromise(`leader ${node.id} commits ${commitIndex} without a majority of every set`);
    this.#checkedCommit = commitIndex;
  }

  #superseded(node: Node): boolean {
    return this.nodes.some((other) => other.core.status.term > node.core.status.term);
  }

  #between([low, high]: readonly [number, number]): number {
    return low + (high - low) * this.#random();
  }

  #schedule(delayMs: number, run: () => void): void {
    this.#push({ at: this.now + delayMs, order: this.#order, run });
    this.#order += 1;
  }

  #push(item: Scheduled): void {
    const heap = this.#queue;
    heap.push(item);
    let child = heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(heap[child], heap[parent])) break;
      swap(heap, child, parent);
      child = parent;
    }
  }

  #pop(): Scheduled | undefined {
    const heap = this.#queue;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    heap[0] = last;
    let parent = 0;
    for (;;) {
      let least = parent;
      if (before(heap[2 * parent + 1], heap[least])) least = 2 * parent + 1;
      if (before(heap[2 * parent + 2], heap[least])) least = 2 * parent + 2;
      if (least === parent) return top;
      swap(heap, least, parent);
      parent = least;
    }
  }
}

function writeTo(disk: Disk, persist: Extract<Effect, { type: 'persist' }>): void {
  const { hardState, snapshot, truncateFrom, entries } = persist;
  if (hardState !== undefined) disk.hardState = hardState;
  if (snapshot !== undefined) {
    if ((disk.snapshot?.index ?? 0) < snapshot.index) throw new BrokenPromise('a log that begins behind no snapshot');
    disk.base = snapshot;
    disk.entries = [];
  }
  if (truncateFrom !== undefined) {
    if (truncateFrom > lastIndexOf(disk)) throw new BrokenPromise('a truncation beyond the end of the log');
    if (truncateFrom <= disk.base.index) throw new BrokenPromise('a truncation of what a snapshot holds');
    disk.entries.length = truncateFrom - 1 - disk.base.index;
  }
  for (const entry of entries) {
    if (entry.index !== lastIndexOf(disk) + 1) throw new BrokenPromise('a write leaves a gap in the log');
    disk.entries.push(entry);
  }
}

function lastIndexOf({ base, entries }: Disk): LogIndex {
  return logIndex(base.index + entries.length);
}

function entriesOf({ base, entries }: Disk, from: number, to: number): Entry[] {
  return from <= base.index ? [] : entries.slice(from - base.index - 1, to - base.index);
}

function compactDisk(disk: Disk, upTo: LogIndex): void {
  if ((disk.snapshot?.index ?? 0) < upTo) throw new BrokenPromise('entries are forgotten that no snapshot holds');
  const last = disk.entries[upTo - disk.base.index - 1];
  if (upTo <= disk.base.index) return;
  if (last === undefined) throw new BrokenPromise('entries are forgotten that are not on disk');
  disk.entries.splice(0, upTo - disk.base.index);
  disk.base = { index: last.index, term: last.term };
}

/** What a log store does at a start with a received snapshot that the log does not go on from. */
function restartLog(disk: Disk): void {
  const { snapshot, base, entries } = disk;
  if (snapshot === undefined) return;
  const found = snapshot.index === base.index ? base.term : entries[snapshot.index - base.index - 1]?.term;
  if (found === snapshot.term) return;
  disk.base = snapshot;
  disk.entries = [];
  if (disk.hardState.term < snapshot.term) disk.hardState = { term: snapshot.term, votedFor: NO_SERVER };
}

function decode(data: Uint8Array): string {
  return new TextDecoder().decode(data);
}

function before(a: Scheduled | undefined, b: Scheduled | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function swap(heap: Scheduled[], a: number, b: number): void {
  const kept = heap[a];
  const other = heap[b];
  if (kept === undefined || other === undefined) return;
  heap[a] = other;
  heap[b] = kept;
}

function mulberry(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
