/**
 * The console log of older versions of Jepsen, in which the histories of etcd were published: `INFO  jepsen.util - 3 :invoke :write 4`.
 * Other lines are left out. A compare-and-set that failed with its pair was refused since the register had another value.
 */

import { HistoryFormatError } from '../json-line.ts';
import { parseEdn } from './edn.ts';
import { eventOf } from './fields.ts';
import type { OperationEvent } from './operation.ts';

const EVENT = /^INFO\s+jepsen\.util\s+-\s+(:?[\w-]+)\s+:(\w+)\s+:([\w-]+)\s+(\S.*)$/;
const LOGGER = /^INFO\s+jepsen\.util\s+-\s/;

/** @throws HistoryFormatError */
export function* readJepsenLog(text: string, keyed: boolean): Generator<OperationEvent> {
  for (const [place, content] of text.split('\n').entries()) {
    const line = place + 1;
    const match = EVENT.exec(content);
    if (match === null) {
      if (LOGGER.test(content))
        throw new HistoryFormatError(line, 'the line has no process, type, operation and value');
      continue;
    }
    const [, name = '', type = '', f = '', value = ''] = match;
    const process = name.replace(':', '');
    if (type === 'fail' && f === 'cas' && value.startsWith('[')) {
      const event = eventOf({ process, type: 'ok', f, value: parseEdn(value, line) }, line, keyed);
      if (event !== undefined) yield { ...event, value: false };
      continue;
    }
    const event = eventOf({ process, type, f, value: parseEdn(value, line) }, line, keyed);
    if (event !== undefined) yield event;
  }
}
