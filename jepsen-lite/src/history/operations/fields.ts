/** The fields of one event, however its file writes them. Both JSON and EDN come here as records of plain values. */

import { HistoryFormatError, shown, type Fields } from '../json-line.ts';
import type { OperationEvent, Value } from './operation.ts';

const TYPES: readonly string[] = ['invoke', 'ok', 'fail', 'info'];
/** What Jepsen calls the process that makes faults; it is no client. */
const NEMESIS = 'nemesis';

/** Undefined for what no client did. `keyed`: values are pairs of a key and the value. @throws HistoryFormatError */
export function eventOf(fields: Fields, line: number, keyed: boolean): OperationEvent | undefined {
  const process = nameIn(fields, 'process', line);
  if (process === NEMESIS) return undefined;
  const { type, f } = fields;
  if (typeof type !== 'string' || !TYPES.includes(type)) {
    throw new HistoryFormatError(line, `"type" is ${shown(type)}, not one of ${TYPES.join(', ')}`);
  }
  if (typeof f !== 'string') throw new HistoryFormatError(line, `"f" is ${shown(f)}, not the name of an operation`);
  if (process === undefined) throw new HistoryFormatError(line, 'the event lacks "process"');
  const { key = nameIn(fields, 'key', line), value } = keyed
    ? pairIn(fields, line)
    : { value: valueOf(fields['value'], line) };
  const client = nameIn(fields, 'client', line);
  return {
    line,
    process,
    type: type as OperationEvent['type'],
    f,
    value,
    ...(key === undefined ? {} : { key }),
    ...(client === undefined ? {} : { client }),
  };
}

function pairIn(fields: Fields, line: number): { readonly key?: string; readonly value: Value } {
  const { value } = fields;
  if (value === null || value === undefined) return { value: null };
  if (!Array.isArray(value) || value.length !== 2) {
    throw new HistoryFormatError(line, `"value" is ${shown(value)}, not a pair [key, value]`);
  }
  const key = nameIn({ key: value[0] as unknown }, 'key', line);
  return { ...(key === undefined ? {} : { key }), value: valueOf(value[1], line) };
}

/** Numbers and texts are names; 3 and "3" are the same. */
function nameIn(fields: Fields, field: string, line: number): string | undefined {
  const name = fields[field];
  if (name === undefined || name === null) return undefined;
  if (typeof name !== 'string' && typeof name !== 'number') {
    throw new HistoryFormatError(line, `"${field}" is ${shown(name)}, not a text or number`);
  }
  return String(name);
}

function valueOf(value: unknown, line: number): Value {
  if (value === undefined) return null;
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new HistoryFormatError(
      line,
      `the number ${value} is beyond 2^53, so that it cannot be distinguished from others`,
    );
  }
  if (Array.isArray(value)) for (const each of value) valueOf(each, line);
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) valueOf(each, line);
  return value as Value;
}
