/** Events as JSON, one a line, in the order in which they happened. Empty lines are left out. */

import { HistoryFormatError, parseJsonLine } from '../json-line.ts';
import { eventOf } from './fields.ts';
import type { OperationEvent } from './operation.ts';

/** @throws HistoryFormatError */
export function* readJsonLines(text: string, keyed: boolean): Generator<OperationEvent> {
  let last: number | undefined;
  for (const [place, content] of text.split('\n').entries()) {
    if (content.trim() === '') continue;
    const line = place + 1;
    const fields = parseJsonLine(content, line);
    const { index = last } = fields;
    if (typeof index === 'number' && last !== undefined && index < last) {
      throw new HistoryFormatError(line, `"index" is ${index} after ${last}; lines were moved`);
    }
    last = typeof index === 'number' ? index : last;
    const event = eventOf(fields, line, keyed);
    if (event !== undefined) yield event;
  }
}
