/** A register: `write` gives it a value, `read` returns the last one. Without an answer a read says nothing. */

import { keyOfValue, type Operation, type Value } from '../history/operations/operation.ts';
import type { Action, Model } from './model.ts';
import { isOk, shown, unknownOperation } from './operations.ts';

const OPERATIONS = ['read', 'write'];

/** The state is the value as text, which is also what a write leaves: until the next one every read has to see it. */
export function register(initial: Value = null): Model<string> {
  return {
    name: 'register',
    initial: keyOfValue(initial),
    keyOf: (state) => state,
    describe: (state) => state,
    actionOf(operation) {
      const action = readOrWrite(operation);
      if (action === undefined) throw unknownOperation('register', operation, OPERATIONS);
      return action;
    },
  };
}

export function readOrWrite(operation: Operation): Action<string> | undefined {
  const { f, input, output } = operation;
  if (f === 'read') {
    const value = keyOfValue(output);
    const known = isOk(operation);
    return {
      text: known ? `read ${shown(output)}` : 'asked to read',
      observes: true,
      same: `read ${value}`,
      sees: [value],
      step: (state) => (!known || state === value ? state : undefined),
    };
  }
  if (f !== 'write') return undefined;
  const value = keyOfValue(input);
  return {
    text: `wrote ${shown(input)}`,
    observes: false,
    same: `write ${value}`,
    leaves: value,
    sees: [],
    step: () => value,
  };
}
