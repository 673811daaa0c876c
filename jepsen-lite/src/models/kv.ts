/** A key-value store of texts: `put` sets one, `append` adds to its end, `get` returns it. A key that was never written has the empty text. */

import type { Operation, Value } from '../history/operations/operation.ts';
import type { Model } from './model.ts';
import { isOk, shown, unknownOperation, wrongValue } from './operations.ts';

/** What a put and an append leave begins with these. */
const PUT = '=';
const APPENDED = '+';

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
            sees: (trace) => isIn(value, trace),
            step: (state) => (!known || state === value ? state : undefined),
          };
        }
        case 'put': {
          const value = textOf(operation, input);
          return {
            text: `put ${shown(value)}`,
            observes: false,
            same: `put ${value}`,
            leaves: `${PUT}${value}`,
            sees: [],
            step: () => value,
          };
        }
        case 'append': {
          const value = textOf(operation, input);
          return {
            text: `appended ${shown(value)}`,
            observes: value === '',
            same: `append ${value}`,
            leaves: `${APPENDED}${value}`,
            sees: [],
            step: (state) => state + value,
          };
        }
        default:
          throw unknownOperation('kv', operation, ['get', 'put', 'append']);
      }
    },
  };
}

/** Until the next put a text begins with what was put, and has in it what was appended. */
function isIn(text: string, trace: string): boolean {
  const left = trace.slice(1);
  return trace.startsWith(PUT) ? text.startsWith(left) : text.includes(left);
}

function textOf(operation: Operation, value: Value): string {
  if (value === null) return '';
  if (typeof value !== 'string') throw wrongValue(operation, value, 'a text');
  return value;
}
