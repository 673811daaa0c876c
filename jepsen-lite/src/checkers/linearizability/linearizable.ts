/**
 * Whether a history of operations is linearizable, object by object: each key by itself, since linearizability is local. Objects are
 * searched in rounds of growing effort, so that one that is hard does not hide another that is broken. What no budget suffices for is
 * `unknown`, and so is a history in which nothing succeeded.
 */

import { concernsEveryKey, isAnswer, keyOfObject } from '../../models/index.ts';
import type { Operation } from '../../history/operations/operation.ts';
import type { Model } from '../../models/model.ts';
import { Budget, type Exhausted, type Limits } from './budget.ts';
import { search, type Impossible, type Outcome } from './search.ts';
import type { Step } from './step.ts';

export type Result =
  | ({ readonly type: 'valid' } & Counts)
  | ({ readonly type: 'invalid'; readonly key: string | undefined; readonly found: Impossible<unknown> } & Counts)
  | ({ readonly type: 'unknown'; readonly reason: Reason } & Counts);

export type Reason =
  | { readonly type: 'nothing-succeeded' }
  | {
      readonly type: 'exhausted';
      readonly budget: Exhausted;
      /** Of the first object without an answer. */
      readonly key: string | undefined;
      readonly explained: number;
      readonly returns: number;
      readonly objectsLeft: number;
    };

export interface Counts {
  readonly objects: number;
  readonly ok: number;
  readonly open: number;
  readonly configurations: number;
}

export interface LinearizableOptions {
  readonly limits?: Partial<Limits>;
  /** Of a clock that only goes forward. @default performance.now */
  readonly nowMs?: () => number;
}

export const DEFAULT_LIMITS: Limits = { configurations: 20_000_000, bytes: 1 << 30, ms: 60_000 };

const FIRST_EFFORT = 10_000;
const EFFORT_GROWS = 8;

/** @throws HistoryFormatError where an operation means nothing to the model */
export function checkLinearizable(
  operations: readonly Operation[],
  model: Model<unknown>,
  { limits = {}, nowMs = () => performance.now() }: LinearizableOptions = {},
): Result {
  const steps = operations.map((operation) => ({ operation, action: model.actionOf(operation) }));
  const objects = objectsOf(steps);
  const ok = steps.filter(({ operation }) => operation.returnedAt !== Number.POSITIVE_INFINITY).length;
  const budget = new Budget({ ...DEFAULT_LIMITS, ...limits }, nowMs);
  const counts = (): Counts => ({
    objects: objects.size,
    ok,
    open: steps.length - ok,
    configurations: budget.configurations,
  });
  // An end of a session is no answer of the object.
  if (!steps.some(({ operation }) => isAnswer(operation))) {
    return { type: 'unknown', reason: { type: 'nothing-succeeded' }, ...counts() };
  }
  const judged = judge(model, objects, budget);
  return { ...judged, ...counts() };
}

type Judged =
  | { readonly type: 'valid' }
  | { readonly type: 'invalid'; readonly key: string | undefined; readonly found: Impossible<unknown> }
  | { readonly type: 'unknown'; readonly reason: Reason };

function judge(model: Model<unknown>, objects: Objects, budget: Budget): Judged {
  const tooLarge: Unanswered[] = [];
  let left: readonly (readonly [string | undefined, Steps])[] = [...objects];
  for (let effort = FIRST_EFFORT; ; effort *= EFFORT_GROWS) {
    const again: Unanswered[] = [];
    for (const [key, steps] of left) {
      const share = budget.atMost(left.length === 1 ? Number.POSITIVE_INFINITY : effort);
      const outcome = search(model, steps, share);
      budget.take(share.configurations);
      if (outcome.type === 'impossible') return { type: 'invalid', key, found: outcome };
      // Memory is given back, so another attempt would end in the same place.
      if (outcome.type === 'exhausted') (outcome.budget === 'bytes' ? tooLarge : again).push({ key, steps, outcome });
    }
    const over = budget.over();
    if (again.length > 0 && over === undefined) {
      left = again.map(({ key, steps }) => [key, steps]);
      continue;
    }
    const first = again[0] ?? tooLarge[0];
    return first === undefined
      ? { type: 'valid' }
      : { type: 'unknown', reason: exhausted(first, over, again.length + tooLarge.length) };
  }
}

interface Unanswered {
  readonly key: string | undefined;
  readonly steps: Steps;
  readonly outcome: Extract<Outcome<unknown>, { readonly type: 'exhausted' }>;
}

function exhausted({ key, outcome }: Unanswered, over: Exhausted | undefined, objectsLeft: number): Reason {
  const { explained, returns } = outcome;
  return { type: 'exhausted', budget: over ?? outcome.budget, key, explained, returns, objectsLeft };
}

type Steps = readonly Step<unknown>[];
type Objects = ReadonlyMap<string | undefined, Steps>;

/** What concerns every key is part of each: that it took effect at one moment for all is not demanded. */
function objectsOf(steps: Steps): Objects {
  const objects = new Map<string | undefined, Step<unknown>[]>();
  const shared: Step<unknown>[] = [];
  for (const step of steps) {
    if (concernsEveryKey(step.operation)) {
      shared.push(step);
      continue;
    }
    const key = keyOfObject(step.operation);
    const object = objects.get(key);
    if (object === undefined) objects.set(key, [step]);
    else object.push(step);
  }
  for (const object of objects.values()) for (const step of shared) object.push(step);
  return objects;
}
