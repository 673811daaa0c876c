/** Histories of Jepsen: EDN, in which events are maps or records (`#jepsen.history.Op{…}`). Keywords are texts here, and sets lists. */

import { parseEDNString } from 'edn-data';

import { HistoryFormatError, shown } from '../json-line.ts';
import { eventOf } from './fields.ts';
import { formsOf } from './edn-forms.ts';
import type { OperationEvent } from './operation.ts';

/** @throws HistoryFormatError */
export function* readEdn(text: string, keyed: boolean): Generator<OperationEvent> {
  for (const { line, text: form } of formsOf(text)) {
    const fields = parseEdn(form, line);
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
      throw new HistoryFormatError(line, `${shown(fields)} is not a map`);
    }
    const event = eventOf(fields as Readonly<Record<string, unknown>>, line, keyed);
    if (event !== undefined) yield event;
  }
}

/** @throws HistoryFormatError */
export function parseEdn(text: string, line: number): unknown {
  let value: unknown;
  try {
    value = parseEDNString(text, {
      mapAs: 'map',
      setAs: 'array',
      listAs: 'array',
      keywordAs: 'string',
      charAs: 'string',
      symbolAs: 'string',
    });
  } catch (error) {
    throw new HistoryFormatError(line, `not EDN (${error instanceof Error ? error.message : String(error)})`);
  }
  return plain(value);
}

/** Maps are Maps, so that every other object is a tag of the library's: `{ tag, val }`. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [nameOf(key), plain(each)]));
  return typeof value === 'object' && value !== null && 'val' in value ? plain(value.val) : value;
}

function nameOf(key: unknown): string {
  const name = plain(key);
  return typeof name === 'string' ? name : JSON.stringify(name);
}
