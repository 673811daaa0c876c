/** A key-value store of texts: `put` sets one, `append` adds to its end, `get` returns it. A key that was never written has the empty text. */

import type { Operation, Value } from '../history/operations/operation.ts';
import type { Model } from './model.ts';
import { isOk, shown, unknownOperation, wrongValue } from './operations.ts';

/** The state is the text of the key. */
export function keyValueStore(): Model<string> {
  return {
    name: 'kv',
    initial: '',
    keyOf: (state) => state,
    describe: (state) => shown(state.length > 40 ? `…${state.slice(-40)}` : state),
    actionOf(operation) {
      const { f, input, output } = operation;
      switch (f) {
        case 'get': {
          const known = isOk(operation);
          const value = known ? textOf(operation, output) : '';
          return {
            text: known ? `got ${shown(value)}` : 'asked to get',
            observes: true,
            same: `get ${value}`,
            step: (state) => (!known || state === value ? state : undefined),
          };
        }
        case 'put': {
          const value = textOf(operation, input);
          return { text: `put ${shown(value)}`, observes: false, same: `put ${value}`, step: () => value };
        }
        case 'append': {
          const value = textOf(operation, input);
          return {
            text: `appended ${shown(value)}`,
            observes: value === '',
            same: `append ${value}`,
            step: (state) => state + value,
          };
        }
        default:
          throw unknownOperation('kv', operation, ['get', 'put', 'append']);
      }
    },
  };
}

function textOf(operation: Operation, value: Value): string {
  if (value === null) return '';
  if (typeof value !== 'string') throw wrongValue(operation, value, 'a text');
  return value;
}
