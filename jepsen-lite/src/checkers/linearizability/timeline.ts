/**
 * The operations of one object in the order of their returns, with what the search asks of them at each return: who else was under way. Of
 * those under way together each has a slot, so that a set of them is a few bits, however long the history is.
 */

import type { Step } from './step.ts';
import { seenOf } from './unseen.ts';

/** Counts of a group are characters. */
const MAX_GROUP = 0xffff;

export interface Timeline<State> {
  /** Those that returned, by their number: the order of returns. */
  readonly returned: readonly Step<State>[];
  readonly slots: Int32Array;
  /** 32-bit words that a set of slots takes. */
  readonly words: number;
  /** For each return, those under way that only observe, and the others, the one that returns first. */
  readonly observers: Lists;
  readonly changers: Lists;
  /** Those of unknown outcome that may have been seen, grouped by what they do; of a group the first to be called stands for all. */
  readonly open: readonly (readonly Step<State>[])[];
  readonly bytes: number;
}

/** Lists of numbers, one behind the other: list n is `items` from `starts[n]` to `starts[n + 1]`. */
interface Lists {
  readonly starts: Int32Array;
  readonly items: Int32Array;
}

export function timelineOf<State>(steps: readonly Step<State>[]): Timeline<State> {
  const returned = steps
    .filter(({ operation }) => operation.returnedAt !== Number.POSITIVE_INFINITY)
    .sort((left, right) => left.operation.returnedAt - right.operation.returnedAt);
  const slots = new Int32Array(returned.length);
  const observers = new ListsBuilder(returned.length);
  const changers = new ListsBuilder(returned.length);
  const calls = returned.map((_, number) => number).sort((left, right) => calledAt(left) - calledAt(right));
  function calledAt(number: number): number {
    return returned[number]?.operation.invokedAt ?? 0;
  }
  const freeSlots: number[] = [];
  let slotsMade = 0;
  let nextCall = 0;
  // Rising, so that the next to return is the first.
  const underWay: number[] = [];
  for (const [number, { operation }] of returned.entries()) {
    for (
      let call = calls[nextCall];
      call !== undefined && calledAt(call) < operation.returnedAt;
      call = calls[nextCall]
    ) {
      nextCall += 1;
      slots[call] = freeSlots.pop() ?? slotsMade++;
      let place = underWay.length;
      while (place > 0 && (underWay[place - 1] ?? 0) > call) place -= 1;
      underWay.splice(place, 0, call);
    }
    for (const each of underWay) (returned[each]?.action.observes === true ? observers : changers).add(each);
    observers.endList();
    changers.endList();
    underWay.shift();
    freeSlots.push(slots[number] ?? 0);
  }
  const lists = { observers: observers.lists(), changers: changers.lists() };
  return {
    returned,
    slots,
    words: Math.max(1, Math.ceil(slotsMade / 32)),
    ...lists,
    open: groupsOfOpen(steps, returned),
    bytes: (lists.observers.items.length + lists.changers.items.length + 3 * returned.length) * 4,
  };
}

/** What observes and was never answered explains nothing, nor does what nobody can have seen. */
function groupsOfOpen<State>(steps: readonly Step<State>[], returned: readonly Step<State>[]): Step<State>[][] {
  const groups: Step<State>[][] = [];
  const filling = new Map<string, Step<State>[]>();
  const open = steps.filter(
    ({ operation, action }) => operation.returnedAt === Number.POSITIVE_INFINITY && !action.observes,
  );
  for (const step of [...seenOf(open, returned)].sort(
    (left, right) => left.operation.invokedAt - right.operation.invokedAt,
  )) {
    const group = filling.get(step.action.same);
    if (group !== undefined && group.length < MAX_GROUP) {
      group.push(step);
    } else {
      const next = [step];
      groups.push(next);
      filling.set(step.action.same, next);
    }
  }
  return groups;
}

class ListsBuilder {
  readonly #starts: Int32Array;
  #items = new Int32Array(1_024);
  #used = 0;
  #list = 0;

  constructor(lists: number) {
    this.#starts = new Int32Array(lists + 1);
  }

  add(item: number): void {
    if (this.#used === this.#items.length) {
      const larger = new Int32Array(this.#items.length * 2);
      larger.set(this.#items);
      this.#items = larger;
    }
    this.#items[this.#used] = item;
    this.#used += 1;
  }

  endList(): void {
    this.#list += 1;
    this.#starts[this.#list] = this.#used;
  }

  lists(): Lists {
    return { starts: this.#starts, items: this.#items.subarray(0, this.#used) };
  }
}
