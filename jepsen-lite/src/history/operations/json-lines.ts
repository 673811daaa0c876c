/** Events as JSON, one a line, in the order in which they happened. Empty lines are left out. */

import { HistoryFormatError } from '../json-lines.ts';
import { eventOf, shown, type Fields } from './fields.ts';
import type { OperationEvent } from './operation.ts';

/** @throws HistoryFormatError */
export function* readJsonLines(text: string, keyed: boolean): Generator<OperationEvent> {
  let last: number | undefined;
  for (const [place, content] of text.split('\n').entries()) {
    if (content.trim() === '') continue;
    const line = place + 1;
    const fields = parse(content, line);
    const { index = last } = fields;
    if (typeof index === 'number' && last !== undefined && index < last) {
      throw new HistoryFormatError(line, `"index" is ${index} after ${last}; lines were moved`);
    }
    last = typeof index === 'number' ? index : last;
    const event = eventOf(fields, line, keyed);
    if (event !== undefined) yield event;
  }
}

function parse(text: string, line: number): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HistoryFormatError(line, `not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new HistoryFormatError(line, `${shown(value)} is not an object`);
  }
  return value as Fields;
}
