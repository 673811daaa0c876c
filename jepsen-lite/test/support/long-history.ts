/** Long histories of many clients at once, which reference objects make: valid by construction, unless one is told to lie. */

import { randomStream } from '@holdfast/runtime/sim';
import type { Operation, Value } from '../../src/history/operations/operation.ts';
import type { ModelName } from '../../src/models/index.ts';
import { REFERENCES } from './reference-objects.ts';

export interface LongHistory {
  readonly model: ModelName;
  readonly operations: number;
  readonly processes: number;
  /** Share of calls of unknown outcome, each with its effect or without. */
  readonly unknown: number;
  /** Calls on one object, before there is another. */
  readonly callsOfObject: number;
  readonly seed: number;
}

/** In the making: what has no `answer` has yet to take effect. */
interface Call {
  readonly place: number;
  readonly process: number;
  readonly owner: string;
  readonly f: string;
  readonly key: string;
  readonly input: Value;
  readonly invokedAt: number;
  answer?: { readonly output: Value };
}

/** At each moment one of the processes calls, takes effect or returns. A process whose call nobody answers has another name next. */
export function longHistory({ model, processes, unknown, callsOfObject, seed, ...long }: LongHistory): Operation[] {
  const random = randomStream(seed, `long history of ${model}`);
  const kind = REFERENCES[model];
  const pick = <T>(from: readonly T[]): T => from[random.integer(from.length)] as T;
  const operations: Operation[] = [];
  const objects = new Map<string, ReturnType<typeof kind.make>>();
  const callers = Array.from({ length: processes }, (_, process) => ({ process, incarnation: 0 }));
  const underWay: (Call | undefined)[] = callers.map(() => undefined);
  let made = 0;

  function begin(process: number, at: number): void {
    const key = String(Math.floor(operations.length / callsOfObject));
    const f = pick(kind.operations);
    const inputs = kind.inputs.filter((each) => Array.isArray(each) === (f === 'cas'));
    const isAsked = f === 'read' || f === 'get' || f === 'expire';
    const owner = `${process}.${callers[process]?.incarnation}`;
    // Each value of a list is appended once, and each text put or appended once.
    const unique = { 'list-append': made, kv: `${made} ` };
    const input = model === 'list-append' || model === 'kv' ? unique[model] : pick(inputs);
    made += 1;
    underWay[process] = { place: made, process, owner, f, key, input: isAsked ? null : input, invokedAt: at };
  }

  function end({ process, owner, f, key, input, invokedAt, answer }: Call, returnedAt: number): void {
    underWay[process] = undefined;
    const output = returnedAt === Number.POSITIVE_INFINITY ? null : (answer?.output ?? null);
    const line = operations.length + 1;
    operations.push({ line, process: owner, client: owner, f, key, input, output, invokedAt, returnedAt });
  }

  for (let at = 0; operations.length < long.operations; at += 1) {
    const process = random.integer(processes);
    const call = underWay[process];
    if (call === undefined) {
      begin(process, at);
    } else if (call.answer === undefined) {
      const object = objects.get(call.key) ?? kind.make();
      objects.set(call.key, object);
      const isUnknown = random.next() < unknown;
      const answer = isUnknown && random.integer(2) === 0 ? undefined : object(call.f, call.owner, call.input);
      if (answer !== undefined) call.answer = answer;
      if (isUnknown) {
        end(call, Number.POSITIVE_INFINITY);
        const caller = callers[process];
        if (caller !== undefined) caller.incarnation += 1;
      } else if (answer === undefined) {
        // It cannot be done now, and has failed.
        underWay[process] = undefined;
      }
    } else {
      end(call, at);
    }
  }
  // What has taken effect was seen, perhaps.
  for (const call of underWay) if (call?.answer !== undefined) end(call, Number.POSITIVE_INFINITY);
  return operations;
}
