/** One action of one server, as a replica would carry it out: what waits for a write leaves when the write is done. */

import {
  encodeConfiguration,
  logIndex,
  nextTerm,
  serverId,
  type Effect,
  type Entry,
  type LogIndex,
  type RaftCore,
  type RaftEvent,
  type ServerId,
  type Term,
} from '@holdfast/raft/core';

import { compacted, entriesOn, wholeLog, withSnapshot, written, type Disk, type Persist } from '../../cores/disk.ts';
import { HEARTBEAT_MS, normalize, openState } from '../world/normal-form.ts';
import type { Outcome, Parcel, Send, Server, ServerAction, ServerRules } from './server.ts';

const TICKET = 1;

export class ServerRun {
  readonly #id: ServerId;
  readonly #rules: ServerRules;
  readonly #core: RaftCore;
  #disk: Disk;
  #writes: Persist[];
  #held: Send[];
  #persistedSeq = 0;
  #applied: readonly Entry[];
  #nowMs = 0;
  #queue: RaftEvent[] = [];
  readonly #outcome = {
    sent: [] as { to: ServerId; parcel: Parcel }[],
    applied: [] as Entry[],
    answered: [] as { ticket: number; index: LogIndex }[],
  };

  constructor(id: ServerId, rules: ServerRules, { core, disk, writes, held, applied }: Server) {
    this.#id = id;
    this.#rules = rules;
    this.#core = core;
    this.#disk = disk;
    this.#writes = [...writes];
    this.#held = [...held];
    this.#applied = applied;
  }

  end(): Outcome {
    const earlier = normalize(openState(this.#core));
    const writes = this.#writes.map((write) => ({ ...write, seq: (write.seq - earlier) as Persist['seq'] }));
    const held = this.#held.map((send) => ({ ...send, after: ((send.after ?? 0) - earlier) as Persist['seq'] }));
    const server = { core: this.#core, disk: this.#disk, writes, held, applied: this.#applied };
    return { server, ...this.#outcome };
  }

  perform(action: Exclude<ServerAction, { type: 'crash' | 'damage' }>): void {
    switch (action.type) {
      case 'hear':
        this.#hear(action.from, action.parcel);
        return;
      case 'stand':
        this.step({ type: 'deadline' });
        if (!this.#rules.preVote) this.#giveAllPreVotes();
        return;
      case 'beat':
        this.#nowMs += HEARTBEAT_MS;
        this.step({ type: 'deadline' });
        return;
      case 'write':
        this.#completeWrite();
        return;
      case 'propose':
        this.step({ type: 'propose', commands: [Uint8Array.of(action.value)] });
        return;
      case 'read':
        this.step({ type: 'read-index', ticket: action.ticket });
        return;
      case 'change':
        this.step({ type: 'change-membership', ticket: TICKET, change: action.change });
        return;
      case 'snapshot':
        this.#takeSnapshot();
        return;
      case 'transfer':
        this.step({ type: 'transfer', ticket: TICKET, target: action.target });
        return;
      case 'reconnect':
        this.step({ type: 'peer-disconnected', peer: action.peer });
        this.step({ type: 'peer-connected', peer: action.peer });
        if (this.#core.needsSnapshot(action.peer)) this.#sendSnapshot(action.peer, this.#core.status.term);
        return;
    }
  }

  /** Each event is a step of its own, and so is what it leads to at once. */
  step(...events: readonly RaftEvent[]): void {
    this.#queue.push(...events);
    for (;;) {
      const group = this.#queue;
      this.#queue = [];
      for (const effect of this.#core.step(group, this.#nowMs)) this.#carryOut(effect);
      if (this.#queue.length > 0) continue;
      if (this.#rules.slowDisk || this.#writes.length === 0) return;
      this.#completeWrite();
    }
  }

  #hear(from: ServerId, parcel: Parcel): void {
    if (parcel.type === 'snapshot-installed') {
      this.step({ type: 'snapshot-sent', peer: from, term: parcel.term, index: parcel.index });
    } else if (parcel.type === 'snapshot') {
      const { term, snapshot } = parcel;
      const { position } = snapshot;
      this.#disk = withSnapshot(this.#disk, snapshot);
      this.step({ type: 'snapshot-received', from, term, position });
      this.#outcome.sent.push({ to: from, parcel: { type: 'snapshot-installed', term, index: position.index } });
    } else {
      this.step({ type: 'message', from, message: parcel });
    }
  }

  /** What was asked is not sent; no more answers than a majority may need are heard. */
  #giveAllPreVotes(): void {
    const { role, term } = this.#core.status;
    if (role !== 'pre-candidate') return;
    this.#outcome.sent = this.#outcome.sent.filter(({ parcel }) => parcel.type !== 'pre-vote');
    const asked = nextTerm(term);
    const answer = { type: 'pre-vote-response', term: asked, askedTerm: asked, granted: true } as const;
    for (const peer of openState(this.#core).membership.electorate) {
      if (this.#core.status.role !== 'pre-candidate') return;
      this.step({ type: 'message', from: serverId(peer), message: answer });
    }
  }

  #completeWrite(): void {
    const write = this.#writes.shift();
    if (write === undefined) return;
    this.#disk = written(this.#disk, write);
    this.#persistedSeq = write.seq;
    const ready = this.#held.filter(({ after }) => after === undefined || after <= write.seq);
    this.#held = this.#held.filter((send) => !ready.includes(send));
    for (const { to, message } of ready) this.#outcome.sent.push({ to, parcel: message });
    this.#queue.push({ type: 'persisted', seq: write.seq });
    if (this.#rules.slowDisk) this.step();
  }

  #takeSnapshot(): void {
    const index = logIndex(this.#applied.length);
    const term = this.#core.termAt(index);
    if (term === undefined || index > this.#core.stableIndex) return;
    if (index <= (this.#disk.snapshot?.position.index ?? 0)) return;
    const configuration = encodeConfiguration(this.#core.configurationAsOf(index).configuration);
    const position = { index, term, configuration };
    this.#disk = withSnapshot(this.#disk, { position, state: this.#applied });
    this.step({ type: 'snapshot-taken', position: { index, term }, compactTo: index });
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'persist':
        this.#writes.push(effect);
        return;
      case 'send':
        if (effect.after !== undefined && effect.after > this.#persistedSeq) this.#held.push(effect);
        else this.#outcome.sent.push({ to: effect.to, parcel: effect.message });
        return;
      case 'apply':
        this.#apply(effect.upTo);
        return;
      case 'read-ready':
        for (const ticket of effect.tickets) this.#outcome.answered.push({ ticket, index: effect.index });
        return;
      case 'restore':
        this.#restore(effect.position.index);
        return;
      case 'compact':
        this.#disk = compacted(this.#disk, effect.upTo);
        return;
      case 'send-snapshot':
        this.#sendSnapshot(effect.peer, effect.term);
        return;
      case 'read-entries': {
        const { peer, term, from, to } = effect;
        this.#queue.push({ type: 'entries-read', peer, term, entries: entriesOn(this.#disk, from, to).slice(0, 1) });
        return;
      }
      case 'lift-vote-ban':
        this.#disk = { ...this.#disk, voteBan: undefined };
        return;
      case 'read-rejected':
      case 'proposals-rejected':
      case 'transfer-ended':
      case 'membership-ended':
        return;
    }
  }

  #sendSnapshot(to: ServerId, term: Term): void {
    const { snapshot } = this.#disk;
    if (snapshot === undefined) throw new TypeError(`server ${this.#id} has forgotten entries that no snapshot holds`);
    this.#outcome.sent.push({ to, parcel: { type: 'snapshot', term, snapshot } });
  }

  #restore(index: LogIndex): void {
    const { snapshot } = this.#disk;
    if (snapshot?.position.index !== index) throw new TypeError(`server ${this.#id} has no snapshot of ${index}`);
    this.#applied = snapshot.state;
    this.#outcome.applied.push(...snapshot.state);
  }

  #apply(upTo: LogIndex): void {
    const entries = wholeLog(this.#disk, this.#writes).slice(this.#applied.length, upTo);
    this.#applied = [...this.#applied, ...entries];
    this.#outcome.applied.push(...entries);
    this.#queue.push({ type: 'applied', index: upTo });
  }
}
