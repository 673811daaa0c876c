/**
 * Every state in which a server was ever found, every message that was ever sent, and what each action made of each server, by number.
 * What a server does depends on nothing but itself, so the real core runs once for each server and action, however many worlds it is
 * in; a world is a few numbers.
 */

import { createHash } from 'node:crypto';

import {
  EntryType,
  decodeConfiguration,
  maxTerm,
  type Entry,
  type LogIndex,
  type ServerId,
  type Term,
} from '@holdfast/raft/core';

import { wholeLog } from '../../cores/disk.ts';
import { Interned } from '../world/interned.ts';
import { placed, renamedAction, renamedEntry, renamedParcel } from '../world/permutations.ts';
import type { Permutation } from '../world/permutations.ts';
import type { CoreRole, Outcome, Parcel, Server, ServerAction } from './server.ts';
import type { ServerFactory } from './server-factory.ts';
import { textOf } from '../world/structure.ts';

/** What laws and actions ask of a server. Positions count from 0, logs and messages are numbers of the table. */
export interface Known {
  readonly position: number;
  readonly id: ServerId;
  readonly role: CoreRole;
  readonly votedFor: ServerId;
  /** 0: it leads nobody. */
  readonly leads: number;
  readonly term: Term;
  readonly commit: LogIndex;
  readonly applied: number;
  /** From the beginning, with what is on its way to the disk. */
  readonly log: number;
  readonly durable: number;
  /** That, or the term of its ban: it votes in none before. */
  readonly durableTerm: Term;
  readonly durableVote: ServerId;
  /** Of its log, in order; the last is in force. */
  readonly electorates: readonly Electorate[];
  readonly writing: boolean;
  readonly voteBan: Term | undefined;
  /** Entries of its log on disk, behind the base. */
  readonly entriesOnDisk: number;
  readonly maySnapshot: boolean;
}

/** Whose majorities decide from an entry of the log on, as positions. */
export interface Electorate {
  /** 0: from the beginning. */
  readonly index: number;
  readonly voterSets: readonly (readonly number[])[];
  /** Voters or not. */
  readonly members: readonly number[];
}

export interface Sent {
  readonly from: number;
  readonly to: number;
  readonly parcel: Parcel;
}

export interface Step {
  readonly next: number;
  /** Different messages, ascending. */
  readonly sent: readonly number[];
  /** Entries by number. */
  readonly applied: readonly number[];
  readonly answered: Outcome['answered'];
  readonly broken: Broken | undefined;
}

export interface TakenStep {
  /** The server that took it, as it was. */
  readonly before: number;
  /** Undefined: it heard `message`. */
  readonly action: ServerAction | undefined;
  readonly message: number;
  readonly step: Step;
}

export interface Broken {
  readonly law: string;
  readonly message: string;
}

/** Only what is the same for all orders of the servers may be reduced by symmetry. */
class AsymmetryError extends Error {
  constructor(action: string) {
    super(
      `servers that begin alike do not act alike: "${action}" has other effects when the servers change places; such bounds must be asymmetric`,
    );
    this.name = 'AsymmetryError';
  }
}

interface Place {
  readonly server: Server;
  readonly known: Known;
  /** How it came about; undefined for a first start. */
  readonly origin: { readonly before: number; readonly action: number } | undefined;
  readonly steps: Map<number, Step>;
  /** By number of the permutation. */
  readonly renamed: number[];
}

const NO_CONSTANTS: ReadonlySet<unknown> = new Set();

export class ServerTable {
  readonly #factory: ServerFactory;
  readonly #permutations: readonly Permutation[];
  readonly #places = new Interned<Place>();
  readonly #messages = new Interned<Sent & { readonly renamed: number[] }>();
  readonly #actions = new Interned<ServerAction>();
  readonly #entries = new Interned<Entry & { readonly renamed: number[] }>();
  readonly #logs = new Interned<readonly number[]>();
  readonly #initialVoters: readonly number[];
  coreSteps = 0;

  constructor(factory: ServerFactory, voters: number, permutations: readonly Permutation[]) {
    this.#factory = factory;
    this.#permutations = permutations;
    this.#initialVoters = Array.from({ length: voters }, (_, position) => position);
  }

  get servers(): number {
    return this.#places.size;
  }

  get messages(): number {
    return this.#messages.size;
  }

  first(position: number): number {
    const id = this.#idAt(position);
    return this.#place(id, this.#factory.create(id), undefined);
  }

  known(server: number): Known {
    return this.#places.at(server).known;
  }

  sent(message: number): Sent {
    return this.#messages.at(message);
  }

  entry(number: number): Entry {
    return this.#entries.at(number);
  }

  /** Entries by number, that of index 1 first. */
  log(number: number): readonly number[] {
    return this.#logs.at(number);
  }

  hear(server: number, message: number): Step {
    // Its action has the number of the message, the others negative ones.
    return this.#step(server, message);
  }

  act(server: number, action: ServerAction): Step {
    return this.#step(server, -1 - this.#actions.numberOf(textOf(action, NO_CONSTANTS), () => action));
  }

  /** All that the core ever took. */
  *taken(): Generator<TakenStep> {
    for (let server = 0; server < this.servers; server += 1) {
      for (const [action, step] of this.#places.at(server).steps) yield { ...this.#named(server, action), step };
    }
  }

  /** The step by which a server came about; undefined for a first start. */
  origin(server: number): TakenStep | undefined {
    const { origin } = this.#places.at(server);
    if (origin === undefined) return undefined;
    const { before, action } = origin;
    return { ...this.#named(before, action), step: this.#step(before, action) };
  }

  /** The same server in the place of another. */
  renamed(server: number, permutation: number): number {
    if (permutation === 0) return server;
    const { origin, renamed, known } = this.#places.at(server);
    const done = renamed[permutation];
    if (done !== undefined) return done;
    const order = this.#permutation(permutation);
    const number =
      origin === undefined
        ? this.first(placed(known.position, order))
        : this.#renamedStep(origin.before, origin.action, permutation);
    renamed[permutation] = number;
    return number;
  }

  renamedMessage(message: number, permutation: number): number {
    if (permutation === 0) return message;
    const { from, to, parcel, renamed } = this.#messages.at(message);
    const done = renamed[permutation];
    if (done !== undefined) return done;
    const order = this.#permutation(permutation);
    const number = this.#message(placed(from, order), placed(to, order), renamedParcel(parcel, order));
    renamed[permutation] = number;
    return number;
  }

  renamedEntry(entry: number, permutation: number): number {
    if (permutation === 0) return entry;
    const { renamed, ...value } = this.#entries.at(entry);
    const done = renamed[permutation];
    if (done !== undefined) return done;
    const number = this.#entry(renamedEntry(value, this.#permutation(permutation)));
    renamed[permutation] = number;
    return number;
  }

  #named(before: number, action: number): Omit<TakenStep, 'step'> {
    return action < 0
      ? { before, action: this.#actions.at(-1 - action), message: -1 }
      : { before, action: undefined, message: action };
  }

  #renamedStep(before: number, action: number, permutation: number): number {
    const order = this.#permutation(permutation);
    const step = this.#step(before, action);
    const there = this.renamed(before, permutation);
    const same =
      action >= 0
        ? this.hear(there, this.renamedMessage(action, permutation))
        : this.act(there, renamedAction(this.#actions.at(-1 - action), order));
    const sent = step.sent.map((message) => this.renamedMessage(message, permutation)).toSorted((a, b) => a - b);
    if (same.sent.join() !== sent.join() || same.broken?.law !== step.broken?.law) {
      throw new AsymmetryError(
        action >= 0 ? `hear ${this.sent(action).parcel.type}` : this.#actions.at(-1 - action).type,
      );
    }
    return same.next;
  }

  #step(server: number, action: number): Step {
    const { steps, server: before, known } = this.#places.at(server);
    const done = steps.get(action);
    if (done !== undefined) return done;
    const step = this.#take(server, before, known, action);
    steps.set(action, step);
    return step;
  }

  #take(number: number, server: Server, { id, position }: Known, action: number): Step {
    this.coreSteps += 1;
    let outcome: Outcome;
    try {
      outcome = this.#factory.act(server, id, action >= 0 ? this.#heard(action) : this.#actions.at(-1 - action));
    } catch (error) {
      if (!(error instanceof Error && 'invariant' in error && typeof error.invariant === 'string')) throw error;
      const broken = { law: error.invariant, message: `server ${id} stops: ${error.message}` };
      return { next: number, sent: [], applied: [], answered: [], broken };
    }
    const sent = new Set(outcome.sent.map(({ to, parcel }) => this.#message(position, to - 1, parcel)));
    return {
      next: this.#place(id, outcome.server, { before: number, action }),
      sent: [...sent].toSorted((a, b) => a - b),
      applied: outcome.applied.map((entry) => this.#entry(entry)),
      answered: outcome.answered,
      broken: undefined,
    };
  }

  #heard(message: number): ServerAction {
    const { from, parcel } = this.#messages.at(message);
    return { type: 'hear', from: this.#idAt(from), parcel };
  }

  #message(from: number, to: number, parcel: Parcel): number {
    const make = (): Sent & { renamed: number[] } => ({ from, to, parcel, renamed: [] });
    return this.#messages.numberOf(`${from}>${to} ${textOf(parcel, NO_CONSTANTS)}`, make);
  }

  #entry(entry: Entry): number {
    const { index, term, type, data } = entry;
    return this.#entries.numberOf(`${index} ${term} ${type} ${data.join()}`, () => ({
      index,
      term,
      type,
      data,
      renamed: [],
    }));
  }

  #log(entries: readonly Entry[]): number {
    const numbers = entries.map((entry) => this.#entry(entry));
    return this.#logs.numberOf(numbers.join(), () => numbers);
  }

  #place(id: ServerId, server: Server, origin: Place['origin']): number {
    // Texts are some kilobytes each.
    const text = createHash('sha256').update(this.#factory.textOf(server)).digest('base64');
    return this.#places.numberOf(`${id} ${text}`, () => ({
      server,
      known: this.#look(id, server),
      origin,
      steps: new Map(),
      renamed: [],
    }));
  }

  #look(id: ServerId, { core, disk, writes, applied }: Server): Known {
    const { role, term, votedFor, commitIndex } = core.status;
    const log = wholeLog(disk, writes);
    return {
      position: id - 1,
      id,
      role,
      votedFor,
      leads: role === 'leader' ? term : 0,
      term,
      commit: commitIndex,
      applied: applied.length,
      log: this.#log(log),
      durable: this.#log(wholeLog(disk, [])),
      durableTerm: maxTerm(disk.hardState.term, disk.voteBan ?? disk.hardState.term),
      durableVote: disk.hardState.votedFor,
      electorates: this.#electorates(log),
      writing: writes.length > 0,
      voteBan: disk.voteBan,
      entriesOnDisk: disk.entries.length,
      maySnapshot: applied.length > (disk.snapshot?.position.index ?? 0) && applied.length <= core.stableIndex,
    };
  }

  /** Counted by the explorer itself, from what the log says. */
  #electorates(log: readonly Entry[]): readonly Electorate[] {
    const found: Electorate[] = [{ index: 0, voterSets: [this.#initialVoters], members: this.#initialVoters }];
    for (const { index, type, data } of log) {
      if (type !== EntryType.configuration) continue;
      const { members } = decodeConfiguration(data);
      const positions = (some: typeof members): number[] => some.map((member) => member.id - 1);
      const outgoing = positions(members.filter((member) => member.outgoing));
      const incoming = positions(members.filter(({ role }) => role === 'voter'));
      const voterSets = outgoing.length === 0 ? [incoming] : [incoming, outgoing];
      found.push({ index, voterSets, members: positions(members) });
    }
    return found;
  }

  #permutation(number: number): Permutation {
    const permutation = this.#permutations[number];
    if (permutation === undefined) throw new RangeError(`no permutation has the number ${number}`);
    return permutation;
  }

  #idAt(position: number): ServerId {
    return (position + 1) as ServerId;
  }
}
