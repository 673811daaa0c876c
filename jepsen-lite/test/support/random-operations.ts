/** Random small histories: what reference objects did in some order, with calls and returns around it, and lies. */

import fc from 'fast-check';

import type { Operation, Value } from '../../src/history/operations/operation.ts';
import { MODELS, type ModelName } from '../../src/models/index.ts';
import type { Model } from '../../src/models/model.ts';
import { LIMIT, PERMITS, REFERENCES, type Kind } from './reference-objects.ts';

export function modelOf(name: ModelName): Model<unknown> {
  return MODELS[name]({ limit: LIMIT, permits: PERMITS });
}

interface Drawn {
  readonly f: number;
  readonly owner: number;
  readonly input: number;
  readonly before: number;
  readonly after: number;
  /** `lost`: it has its effect and nobody is answered; `never`: nor has it its effect. */
  readonly fate: 'ok' | 'lost' | 'never';
}

interface Lie {
  readonly which: number;
  readonly how: 'answer' | 'owner' | 'operation' | 'later' | 'sooner';
  readonly what: number;
}

function drawn(openShare: number): fc.Arbitrary<Drawn> {
  const openOf100 = Math.round(openShare * 50);
  return fc.record({
    f: fc.nat(59),
    owner: fc.nat(2),
    input: fc.nat(5),
    before: fc.nat(25),
    after: fc.nat(25),
    fate: fc.oneof(
      { weight: 100 - 2 * openOf100, arbitrary: fc.constant<Drawn['fate']>('ok') },
      { weight: openOf100, arbitrary: fc.constant<Drawn['fate']>('lost') },
      { weight: openOf100, arbitrary: fc.constant<Drawn['fate']>('never') },
    ),
  });
}

const lie = fc.record({
  which: fc.nat(20),
  how: fc.constantFrom<Lie['how'][]>('answer', 'answer', 'owner', 'operation', 'later', 'sooner'),
  what: fc.nat(20),
});

export interface RandomHistory {
  readonly operations: readonly Operation[];
  readonly lies: number;
}

/** Up to `calls` operations, that share of them of unknown outcome; without lies it is valid. */
export function randomHistories(name: ModelName, calls = 9, openShare = 2 / 7): fc.Arbitrary<RandomHistory> {
  const kind = REFERENCES[name];
  return fc
    .record({
      calls: fc.array(drawn(openShare), { maxLength: calls, size: 'max' }),
      lies: fc.array(lie, { maxLength: 3 }),
    })
    .map(({ calls: made, lies }) => ({ operations: withLies(executed(kind, made), kind, lies), lies: lies.length }));
}

/** The n-th takes effect at moment 10 n. */
function executed(kind: Kind, calls: readonly Drawn[]): Operation[] {
  const object = kind.make();
  return calls.flatMap(({ f: place, owner: number, input: choice, before, after, fate }, n) => {
    const owner = String(number);
    const f = pick(kind.operations, place);
    const input = f === 'cas' ? pick(kind.inputs.filter(Array.isArray), choice) : plain(pick(kind.inputs, choice));
    const given = f === 'read' || f === 'get' || f === 'expire' ? null : input;
    const answer = fate === 'never' ? { output: null } : object(f, owner, given);
    if (answer === undefined) return [];
    const moment = 1_000 + n * 10;
    return [
      {
        line: n + 1,
        process: owner,
        client: owner,
        f,
        key: undefined,
        input: given,
        output: fate === 'ok' ? answer.output : null,
        // No two moments are the same.
        invokedAt: moment - before - n / 100,
        returnedAt: fate === 'ok' ? moment + after + 0.5 + n / 100 : Number.POSITIVE_INFINITY,
      },
    ];
  });
}

function withLies(operations: Operation[], kind: Kind, lies: readonly Lie[]): Operation[] {
  const answered = [...operations];
  for (const { which, how, what } of lies) {
    const place = which % Math.max(1, answered.length);
    const operation = answered[place];
    if (operation !== undefined) answered[place] = { ...operation, ...altered(operation, kind, how, what) };
  }
  return answered;
}

function altered(operation: Operation, kind: Kind, how: Lie['how'], what: number): Partial<Operation> {
  const { invokedAt, returnedAt, f } = operation;
  // Past a few others.
  const shift = 10 + what * 5;
  switch (how) {
    case 'answer': {
      const observes = f === 'read' || f === 'get';
      const fitting = kind.lies.filter((each) => f === 'cas' || !observes || typeof each !== 'boolean');
      return returnedAt === Number.POSITIVE_INFINITY ? {} : { output: pick(fitting, what) };
    }
    case 'owner':
      return { client: String(what % 3) };
    case 'operation': {
      const others = kind.operations.filter((each) => each !== 'cas' && (each === 'write' || kind.lies.length === 1));
      return others.length === 0 ? {} : { f: pick(others, what) };
    }
    case 'later':
      return { invokedAt: invokedAt + shift, returnedAt: returnedAt + shift };
    case 'sooner':
      return { invokedAt: invokedAt - shift, returnedAt: returnedAt - shift };
  }
}

function plain(value: Value): Value {
  return Array.isArray(value) ? (value[0] as Value) : value;
}

function pick<T>(from: readonly T[], choice: number): T {
  return from[choice % from.length] as T;
}

/** Tries every order, and every choice of those that never returned. */
export function explained(operations: readonly Operation[], model: Model<unknown>, state = model.initial): boolean {
  const returns = operations.map(({ returnedAt }) => returnedAt);
  const firstReturn = Math.min(...returns);
  if (firstReturn === Number.POSITIVE_INFINITY) return true;
  return operations.some((operation) => {
    if (operation.invokedAt > firstReturn) return false;
    const after = model.actionOf(operation).step(state);
    return (
      after !== undefined &&
      explained(
        operations.filter((other) => other !== operation),
        model,
        after,
      )
    );
  });
}
