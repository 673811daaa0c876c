/** What models share in reading operations: which there are, what their values must look like, and how both are shown to people. */

import { HistoryFormatError } from '../history/json-line.ts';
import { keyOfValue, type Operation, type Value } from '../history/operations/operation.ts';

export function isOk({ returnedAt }: Operation): boolean {
  return returnedAt !== Number.POSITIVE_INFINITY;
}

export function unknownOperation(model: string, operation: Operation, known: readonly string[]): HistoryFormatError {
  return new HistoryFormatError(
    operation.line,
    `the model ${model} has no operation "${operation.f}"; it has ${known.join(', ')}`,
  );
}

export function wrongValue(operation: Operation, value: Value, expected: string): HistoryFormatError {
  return new HistoryFormatError(operation.line, `${operation.f} has the value ${shown(value)}, not ${expected}`);
}

/** For people. */
export function shown(value: Value): string {
  const text = keyOfValue(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** A whole number, by itself or as a field of that name; undefined where there is none. */
export function numberIn(operation: Operation, value: Value, ...names: readonly string[]): number | undefined {
  const found = isRecord(value) ? names.map((name) => value[name]).find((each) => each !== undefined) : value;
  if (found === null || found === undefined) return undefined;
  if (typeof found !== 'number' || !Number.isSafeInteger(found) || found < 0) {
    throw wrongValue(operation, value, `a whole number from 0${names.length > 0 ? ` or one as "${names[0]}"` : ''}`);
  }
  return found;
}

function isRecord(value: Value): value is { readonly [name: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
