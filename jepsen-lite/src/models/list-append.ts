/**
 * A list: `append` adds a value at its end, `read` returns all. Transactions of Jepsen's list-append workload count when they have one
 * operation: `txn` with `[["append", key, value]]` or `[["r", key, list]]`.
 */

import { HistoryFormatError } from '../history/json-line.ts';
import { keyOfValue, type Operation, type Value } from '../history/operations/operation.ts';
import type { Action, Model } from './model.ts';
import { isOk, shown, unknownOperation, wrongValue } from './operations.ts';

/** A list is its last value and the list before it; equal lists are the same object. */
export interface List {
  readonly id: number;
  readonly last: string;
  readonly length: number;
  readonly longer: Map<string, List>;
  readonly before: List | undefined;
}

const DESCRIBED = 5;

export function listAppend(): Model<List> {
  let lists = 0;
  /** For each object the longest list that was read, and all that it begins with, by their lengths. */
  const longestRead = new Map<string | undefined, readonly List[]>();
  const empty = list(undefined, '');

  function list(before: List | undefined, last: string): List {
    lists += 1;
    return { id: lists, last, length: (before?.length ?? -1) + 1, longer: new Map(), before };
  }

  function longer(before: List, last: string): List {
    const known = before.longer.get(last);
    if (known !== undefined) return known;
    const made = list(before, last);
    before.longer.set(last, made);
    return made;
  }

  function append(operation: Operation, value: Value): Action<List> {
    const last = keyOfValue(value);
    const key = keyOfList(operation);
    return {
      // A list never gets shorter: whoever reads as much or more reads it after this, and it begins with this.
      isDeadEnd(after) {
        const known = longestRead.get(key)?.[after.length];
        return known !== undefined && known !== after;
      },
      text: `appended ${shown(value)}`,
      observes: false,
      same: `append ${last}`,
      // Whoever reads after it reads it.
      leaves: last,
      sees: [],
      step: (state) => longer(state, last),
    };
  }

  function read(operation: Operation, output: Value): Action<List> {
    if (!isOk(operation)) {
      return { text: 'asked to read', observes: true, same: 'read', sees: [], step: (state) => state };
    }
    if (output !== null && !Array.isArray(output)) throw wrongValue(operation, output, 'a list');
    const values = (output ?? []) as readonly Value[];
    const keys = values.map((value) => keyOfValue(value));
    const beginnings = [empty];
    let found = empty;
    for (const key of keys) {
      found = longer(found, key);
      beginnings.push(found);
    }
    const list = keyOfList(operation);
    if (beginnings.length > (longestRead.get(list)?.length ?? 0)) longestRead.set(list, beginnings);
    return {
      text: values.length > DESCRIBED ? `read ${describe(found)}` : `read ${shown(values)}`,
      observes: true,
      same: `read ${found.id}`,
      sees: keys,
      step: (state) => (state === found ? state : undefined),
    };
  }

  return {
    name: 'list-append',
    initial: empty,
    keyOf: ({ id }) => id,
    describe,
    actionOf(operation) {
      const { f, value } = stepOf(operation);
      if (f === 'append') return append(operation, value);
      if (f === 'read' || f === 'r') return read(operation, value);
      throw unknownOperation('list-append', operation, ['append', 'read', 'txn']);
    },
  };
}

function keyOfList(operation: Operation): string | undefined {
  return operation.key ?? keyOfTransaction(operation);
}

/** The key of a transaction's only operation. */
export function keyOfTransaction({ f, input, line }: Operation): string | undefined {
  return f === 'txn' ? keyOfValue(onlyStep(input, line)[1] ?? null) : undefined;
}

function stepOf({ f, input, output, line, returnedAt }: Operation): { readonly f: string; readonly value: Value } {
  if (f !== 'txn') return { f, value: f === 'append' ? input : output };
  const [name = null, , value = null] = onlyStep(returnedAt === Number.POSITIVE_INFINITY ? input : output, line);
  return { f: typeof name === 'string' ? name : keyOfValue(name), value };
}

function onlyStep(value: Value, line: number): readonly Value[] {
  const steps = Array.isArray(value) ? (value as readonly Value[]) : [];
  const [step] = steps;
  if (steps.length !== 1 || !Array.isArray(step)) {
    throw new HistoryFormatError(line, `a transaction must have one operation here, and this one has ${steps.length}`);
  }
  return step as readonly Value[];
}

function describe(state: List): string {
  const values: string[] = [];
  for (let at: List | undefined = state; at?.before !== undefined && values.length < DESCRIBED; at = at.before) {
    values.unshift(at.last);
  }
  return state.length > values.length ? `[… ${values.join(',')}] of ${state.length} values` : `[${values.join(',')}]`;
}
