/**
 * Whether one order explains what the concurrent operations on one object were answered: each takes effect at one moment between its call
 * and its return; one of unknown outcome at some later moment, or never. The search is Wing and Gong's with Lowe's refinements: an
 * operation is ordered only when the next one to return demands it, and no configuration is tried twice. It keeps its own stack, and gives
 * up when its budget is used.
 */

import type { States } from '../../models/model.ts';
import type { Budget, Exhausted } from './budget.ts';
import { Configurations } from './configurations.ts';
import { InternedStates, OpenSets } from './interned.ts';
import type { Step } from './step.ts';
import { timelineOf, type Timeline } from './timeline.ts';

export type Outcome<State> =
  | { readonly type: 'found' }
  | ({ readonly type: 'exhausted'; readonly budget: Exhausted } & Progress)
  | Impossible<State>;

interface Progress {
  /** Returns that are explained where it came furthest, of how many. */
  readonly explained: number;
  readonly returns: number;
}

export interface Impossible<State> extends Progress {
  readonly type: 'impossible';
  /** What could not be ordered where the search came furthest. */
  readonly stuck: Step<State>;
  /** What was ordered before, in that order, and the state after it. */
  readonly prefix: readonly Step<State>[];
  readonly state: State;
  /** Under way with it, and not ordered. */
  readonly concurrent: readonly Step<State>[];
}

const ROOT = -1;

export function search<State>(states: States<State>, steps: readonly Step<State>[], budget: Budget): Outcome<State> {
  return new Search(states, timelineOf(steps)).run(budget);
}

class Search<State> {
  readonly #timeline: Timeline<State>;
  readonly #initial: State;
  readonly #states: InternedStates<State>;
  readonly #open: OpenSets;
  readonly #configurations: Configurations;
  /** Of the configuration in hand: slots of those under way that are linearized. */
  readonly #set: Int32Array;

  constructor(states: States<State>, timeline: Timeline<State>) {
    this.#timeline = timeline;
    this.#initial = states.initial;
    this.#states = new InternedStates(states);
    this.#open = new OpenSets(timeline.open.length);
    this.#configurations = new Configurations(timeline.words);
    this.#set = new Int32Array(timeline.words);
  }

  run(budget: Budget): Outcome<State> {
    const { returned } = this.#timeline;
    let furthest = 0;
    let explained = this.#pass(0, this.#initial);
    if (explained === returned.length) return { type: 'found' };
    this.#configurations.add(explained, 0, this.#states.numberOf(this.#initial), this.#set, ROOT, ROOT);
    // Configurations that are not exhausted, and for each the next candidate to try.
    const stack: number[] = [0];
    const cursors: number[] = [0];
    while (stack.length > 0) {
      const top = stack.length - 1;
      const reached = this.#next(stack[top] ?? 0, cursors, top);
      if (reached === ROOT) {
        stack.pop();
        cursors.pop();
        continue;
      }
      const returns = this.#configurations.returns(reached);
      if (returns === returned.length) return { type: 'found' };
      const exhausted = budget.spent(this.#bytes() + stack.length * 16);
      if (exhausted !== undefined) return { type: 'exhausted', budget: exhausted, explained, returns: returned.length };
      if (returns > explained) {
        explained = returns;
        furthest = reached;
      }
      stack.push(reached);
      cursors.push(0);
    }
    return this.#impossible(furthest);
  }

  #bytes(): number {
    return this.#timeline.bytes + this.#configurations.bytes + this.#states.bytes + this.#open.bytes;
  }

  /** The next new configuration that one more operation leads to; ROOT when there is none. */
  #next(from: number, cursors: number[], top: number): number {
    const { changers, open } = this.#timeline;
    const returns = this.#configurations.returns(from);
    const start = changers.starts[returns] ?? 0;
    const count = (changers.starts[returns + 1] ?? 0) - start;
    for (let cursor = cursors[top] ?? 0; cursor < count + open.length; cursor += 1) {
      const reached =
        cursor < count
          ? this.#orderReturned(from, returns, changers.items[start + cursor] ?? 0)
          : this.#orderOpen(from, returns, cursor - count);
      if (reached === ROOT) continue;
      cursors[top] = cursor + 1;
      return reached;
    }
    return ROOT;
  }

  #orderReturned(from: number, returns: number, number: number): number {
    this.#configurations.copySet(from, this.#set);
    if (this.#has(number)) return ROOT;
    const state = this.#states.get(this.#configurations.state(from));
    const action = this.#timeline.returned[number]?.action;
    const after = action?.step(state);
    if (after === undefined || action?.isDeadEnd?.(after) === true) return ROOT;
    this.#toggle(number);
    return this.#reach(from, returns, after, this.#configurations.open(from), number);
  }

  /** Of those of unknown outcome; one that changes nothing need not have happened. */
  #orderOpen(from: number, returns: number, group: number): number {
    const set = this.#configurations.open(from);
    const step = this.#timeline.open[group]?.[this.#open.count(set, group)];
    const due = this.#timeline.returned[returns]?.operation.returnedAt ?? 0;
    if (step === undefined || step.operation.invokedAt > due) return ROOT;
    const before = this.#configurations.state(from);
    const after = step.action.step(this.#states.get(before));
    if (after === undefined || step.action.isDeadEnd?.(after) === true) return ROOT;
    if (this.#states.numberOf(after) === before) return ROOT;
    this.#configurations.copySet(from, this.#set);
    return this.#reach(from, returns, after, this.#open.with(set, group), -2 - group);
  }

  #reach(from: number, before: number, state: State, open: number, via: number): number {
    const returns = this.#pass(before, state);
    return this.#configurations.add(returns, open, this.#states.numberOf(state), this.#set, from, via);
  }

  /**
   * Passes the returns that are explained, and orders what only observes as soon as it fits: that rules nothing else out. Returns how
   * many returns are explained then.
   */
  #pass(from: number, state: State, onObserved?: (step: Step<State>) => void): number {
    const { returned, observers } = this.#timeline;
    for (let returns = from; returns < returned.length; returns += 1) {
      const end = observers.starts[returns + 1] ?? 0;
      for (let at = observers.starts[returns] ?? 0; at < end; at += 1) {
        const number = observers.items[at] ?? 0;
        const step = returned[number];
        if (step === undefined || this.#has(number) || step.action.step(state) === undefined) continue;
        this.#toggle(number);
        onObserved?.(step);
      }
      if (!this.#has(returns)) return returns;
      this.#toggle(returns);
    }
    return returned.length;
  }

  #has(number: number): boolean {
    const slot = this.#timeline.slots[number] ?? 0;
    return ((this.#set[slot >>> 5] ?? 0) & (1 << (slot & 31))) !== 0;
  }

  #toggle(number: number): void {
    const slot = this.#timeline.slots[number] ?? 0;
    this.#set[slot >>> 5] = (this.#set[slot >>> 5] ?? 0) ^ (1 << (slot & 31));
  }

  #impossible(furthest: number): Impossible<State> {
    const { returned, changers, observers } = this.#timeline;
    const returns = this.#configurations.returns(furthest);
    const stuck = returned[returns];
    if (stuck === undefined) throw new Error('the search ended where every return is explained');
    const prefix = this.#orderTo(furthest);
    this.#configurations.copySet(furthest, this.#set);
    const underWay = [changers, observers].flatMap(({ starts, items }) => [
      ...items.subarray(starts[returns], starts[returns + 1]),
    ]);
    const concurrent = underWay.filter((number) => number !== returns && !this.#has(number));
    return {
      type: 'impossible',
      explained: returns,
      returns: returned.length,
      stuck,
      prefix,
      state: this.#states.get(this.#configurations.state(furthest)),
      concurrent: concurrent.flatMap((number) => returned[number] ?? []),
    };
  }

  /** What was ordered on the way there, with what only observed. */
  #orderTo(configuration: number): Step<State>[] {
    const way: number[] = [];
    for (let at = configuration; at !== ROOT; at = this.#configurations.parent(at)) way.unshift(at);
    const order: Step<State>[] = [];
    this.#set.fill(0);
    let returns = 0;
    for (const at of way) {
      const via = this.#configurations.via(at);
      const parent = this.#configurations.parent(at);
      const state = this.#states.get(this.#configurations.state(at));
      if (via >= 0) this.#toggle(via);
      const step = via >= 0 ? this.#timeline.returned[via] : this.#openStep(parent, -2 - via);
      if (step !== undefined) order.push(step);
      returns = this.#pass(returns, state, (observed) => order.push(observed));
    }
    return order;
  }

  #openStep(parent: number, group: number): Step<State> | undefined {
    return parent === ROOT
      ? undefined
      : this.#timeline.open[group]?.[this.#open.count(this.#configurations.open(parent), group)];
  }
}
