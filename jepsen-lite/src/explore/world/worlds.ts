/**
 * A world is a list of numbers: its servers, its history, how often what is counted has happened, and the messages under way,
 * ascending. Of worlds that differ only in who is who one stands for all.
 *
 * Messages arrive in any order or never. One that never arrives changes nothing as long as there is room for it, so that none is lost
 * before there are too many; then any are.
 */

import type { ServerId } from '@holdfast/raft/core';

import type { Bounds, Counted } from '../bounds.ts';
import { Counters } from '../counters.ts';
import { CanonicalWorld } from './canonical-world.ts';
import { HistoryTable } from '../history.ts';
import { Laws } from '../laws.ts';
import type { CoreModule } from '../server/opened-core.ts';
import { permutationsOf, placed, type Permutation } from './permutations.ts';
import { addressOf, type ServerAction } from '../server/server.ts';
import { ServerFactory } from '../server/server-factory.ts';
import { ServerTable, type Broken, type Step } from '../server/server-table.ts';

/** How one world becomes another. */
export interface Transition {
  readonly position: number;
  /** Undefined: the server hears `message`. */
  readonly action: ServerAction | undefined;
  readonly message: number;
  /** The message stays under way and arrives once more. */
  readonly kept: boolean;
  readonly step: Step;
  readonly broken: Broken | undefined;
}

/** `messages`: under way afterwards, before the servers change places by the permutation. `world` is written over with the next one. */
export type Visit = (
  world: readonly number[],
  transition: Transition,
  messages: readonly number[],
  permutation: number,
) => void;

export type World = ArrayLike<number>;

export class Worlds {
  readonly bounds: Bounds;
  readonly table: ServerTable;
  readonly histories: HistoryTable;
  readonly permutations: readonly Permutation[];
  readonly #laws: Laws;
  readonly servers: number;
  readonly #counters: Counters;
  readonly #ids: readonly ServerId[];
  readonly #canonical: CanonicalWorld;

  /** `symmetric`: of worlds that differ only in who is who one stands for all. */
  constructor(module: CoreModule, bounds: Bounds, symmetric = bounds.asymmetric !== true) {
    this.bounds = bounds;
    this.servers = bounds.voters + bounds.spares;
    this.permutations = permutationsOf(this.servers, symmetric ? bounds.voters : 1);
    const factory = new ServerFactory(module, bounds);
    this.table = new ServerTable(factory, bounds.voters, this.permutations);
    this.histories = new HistoryTable(this.table, this.permutations);
    // What was acknowledged may be lost before it is counted.
    const durable = (bounds.most.damages ?? 0) === 0;
    this.#laws = new Laws(this.table, { durable });
    this.#counters = new Counters(bounds.most);
    this.#canonical = new CanonicalWorld(this.table, this.histories, this.permutations);
    this.#ids = factory.ids;
  }

  first(): readonly number[] {
    const servers = Array.from({ length: this.servers }, (_, position) => this.table.first(position));
    return [...servers, this.histories.first, 0];
  }

  /** The same world, with the servers in other places. */
  renamed(world: World, permutation: number): readonly number[] {
    const renamed: number[] = [];
    const order = this.permutations[permutation] ?? [];
    for (let place = 0; place < world.length; place += 1) {
      const value = world[place] ?? 0;
      if (place < this.servers) renamed[placed(place, order)] = this.table.renamed(value, permutation);
      else if (place === this.servers) renamed.push(this.histories.renamed(value, permutation));
      else renamed.push(place === this.servers + 1 ? value : this.table.renamedMessage(value, permutation));
    }
    return renamed;
  }

  /** @throws RangeError for a permutation that is no symmetry */
  numberOf(permutation: Permutation): number {
    const number = this.permutations.findIndex((known) => known.join() === permutation.join());
    if (number < 0) throw new RangeError(`${permutation.join()} is no symmetry`);
    return number;
  }

  /** Of each world that may be next. The same world has the same successors in the same order. */
  successors(world: World, visit: Visit): void {
    for (let position = 0; position < this.servers; position += 1) this.#actions(world, position, visit);
    const kept = this.#counters.left(this.#used(world), 'duplicates') > 0;
    for (let place = this.servers + 2; place < world.length; place += 1) {
      const message = world[place] ?? 0;
      const position = this.table.sent(message).to;
      const step = this.table.hear(world[position] ?? 0, message);
      const transition = { position, action: undefined, message, kept: false, step };
      this.#take(world, transition, visit);
      if (kept) this.#take(world, { ...transition, kept: true }, visit, 'duplicates');
    }
  }

  #used(world: World): number {
    return world[this.servers + 1] ?? 0;
  }

  #actions(world: World, position: number, visit: Visit): void {
    const used = this.#used(world);
    const { id, leads, writing, maySnapshot, entriesOnDisk } = this.table.known(world[position] ?? 0);
    const attempt = (action: ServerAction, counted?: Counted): void => {
      if (counted !== undefined && this.#counters.left(used, counted) === 0) return;
      const step = this.table.act(world[position] ?? 0, action);
      this.#take(world, { position, action, message: -1, kept: false, step }, visit, counted);
    };
    if (writing) attempt({ type: 'write' });
    attempt({ type: 'crash' }, 'crashes');
    if (this.#counters.left(used, 'damages') > 0) {
      for (let kept = 0; kept < entriesOnDisk; kept += 1) attempt({ type: 'damage', kept }, 'damages');
    }
    if (maySnapshot) attempt({ type: 'snapshot' }, 'snapshots');
    if (leads === 0) {
      attempt({ type: 'stand' }, 'stands');
      return;
    }
    attempt({ type: 'propose', value: this.#counters.count(used, 'proposals') + 1 }, 'proposals');
    attempt({ type: 'read', ticket: this.#counters.count(used, 'reads') }, 'reads');
    attempt({ type: 'beat' }, 'beats');
    for (const other of this.#ids) {
      const remove = { type: 'change', change: { type: 'remove', id: other } } as const;
      if (other === id) {
        attempt(remove, 'departures');
        continue;
      }
      attempt(remove, 'removals');
      const add = { type: 'add', id: other, peerAddress: addressOf(other), observer: false } as const;
      if (other > this.bounds.voters) attempt({ type: 'change', change: add }, 'additions');
      attempt({ type: 'reconnect', peer: other }, 'reconnects');
      attempt({ type: 'transfer', target: other }, 'transfers');
    }
  }

  #take(world: World, made: Omit<Transition, 'broken'>, visit: Visit, counted?: Counted): void {
    const { position, action, step } = made;
    if (this.#changesNothing(world, made)) return;
    const history = world[this.servers] ?? 0;
    const ticket = action?.type === 'read' ? action.ticket : undefined;
    const judged = { servers: this.#serversOf(world), position, step, ticket };
    let after = history;
    if (!this.#laws.isQuiet(judged)) {
      const verdict = this.#laws.judge(judged, this.histories.at(history));
      if (verdict.broken !== undefined) {
        visit([], { ...made, broken: verdict.broken }, [], 0);
        return;
      }
      after = this.histories.numberOf(verdict.history);
    }
    const transition = { ...made, broken: undefined };
    const used = this.#used(world) + (counted === undefined ? 0 : this.#counters.weight(counted));
    const servers = [...judged.servers];
    servers[position] = step.next;
    const messages = this.#underWay(world, made);
    for (const some of chosen(messages, this.bounds.messages)) {
      const permutation = this.#canonical.find(servers, after, used, some);
      visit(this.#canonical.world, transition, some, permutation);
    }
  }

  /** To hear a message without any effect is no better than to go on without it. */
  #changesNothing(world: World, { position, step }: Omit<Transition, 'broken'>): boolean {
    if (step.next !== world[position] || step.broken !== undefined || step.answered.length > 0) return false;
    return step.sent.every((message) => this.#isUnderWay(world, message));
  }

  #isUnderWay(world: World, message: number): boolean {
    for (let place = this.servers + 2; place < world.length; place += 1) if (world[place] === message) return true;
    return false;
  }

  #serversOf(world: World): number[] {
    const servers: number[] = [];
    for (let position = 0; position < this.servers; position += 1) servers.push(world[position] ?? 0);
    return servers;
  }

  #underWay(world: World, { message, kept, step }: Omit<Transition, 'broken'>): number[] {
    const messages: number[] = [];
    for (let place = this.servers + 2; place < world.length; place += 1) {
      const each = world[place] ?? 0;
      if (each !== message || kept) messages.push(each);
    }
    for (const each of step.sent) if (!messages.includes(each)) messages.push(each);
    return messages.toSorted((a, b) => a - b);
  }
}

/** All ways to keep `most` of them, in order. */
function chosen(messages: readonly number[], most: number): readonly (readonly number[])[] {
  if (messages.length <= most) return [messages];
  const ways: number[][] = [];
  const choose = (from: number, taken: readonly number[]): void => {
    if (taken.length === most) {
      ways.push([...taken]);
      return;
    }
    for (let place = from; place <= messages.length - (most - taken.length); place += 1) {
      choose(place + 1, [...taken, messages[place] ?? 0]);
    }
  };
  choose(0, []);
  return ways;
}
