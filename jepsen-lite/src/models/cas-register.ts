/**
 * A register with compare-and-set: `cas` is given `[from, to]`. Where it was answered with `false`, the register did not have the value
 * `from`; one that *failed* says nothing, since it may have failed for any reason.
 */

import { keyOfValue, type Operation, type Value } from '../history/operations/operation.ts';
import type { Action, Model } from './model.ts';
import { isOk, shown, unknownOperation, wrongValue } from './operations.ts';
import { readOrWrite, register } from './register.ts';

const OPERATIONS = ['read', 'write', 'cas'];

export function casRegister(initial: Value = null): Model<string> {
  return {
    ...register(initial),
    name: 'cas-register',
    actionOf(operation) {
      const action = readOrWrite(operation) ?? compareAndSet(operation);
      if (action === undefined) throw unknownOperation('cas-register', operation, OPERATIONS);
      return action;
    },
  };
}

function compareAndSet(operation: Operation): Action<string> | undefined {
  const { f, input, output } = operation;
  if (f !== 'cas') return undefined;
  if (!Array.isArray(input) || input.length !== 2) throw wrongValue(operation, input, 'a pair [from, to]');
  const [from = null, to = null] = input as readonly Value[];
  const [expected, next] = [keyOfValue(from), keyOfValue(to)];
  if (isOk(operation) && output === false) {
    return {
      text: `was answered that the value is not ${shown(from)}, to set ${shown(to)}`,
      observes: true,
      same: `cas refused ${expected}`,
      sees: (trace) => trace !== expected,
      step: (state) => (state === expected ? undefined : state),
    };
  }
  return {
    text: `set ${shown(to)} where it was ${shown(from)}`,
    observes: expected === next,
    same: `cas ${expected} ${next}`,
    leaves: next,
    sees: [expected],
    step: (state) => (state === expected ? next : undefined),
  };
}
