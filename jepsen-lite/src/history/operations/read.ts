/** Reads a file of operations in any of the formats; which one it is shows in its first characters. */

import { HistoryFormatError } from '../json-lines.ts';
import { readEdn } from './edn.ts';
import { readJepsenLog } from './jepsen-log.ts';
import { readJsonLines } from './json-lines.ts';
import { pairEvents, type OperationEvent, type OperationHistory } from './operation.ts';

type Reader = (text: string, keyed: boolean) => Iterable<OperationEvent>;

const READERS = {
  'json-lines': readJsonLines,
  edn: readEdn,
  'jepsen-log': readJepsenLog,
} as const satisfies Readonly<Record<string, Reader>>;

export type FormatName = keyof typeof READERS;
export const FORMATS = Object.keys(READERS) as readonly FormatName[];

export interface ReadOptions {
  /** @default what the first characters show */
  readonly format?: FormatName;
  /** Values are pairs of a key and the value, as `jepsen.independent` has them. */
  readonly keyed?: boolean;
}

/** @throws HistoryFormatError */
export function readOperations(text: string, { format, keyed = false }: ReadOptions = {}): OperationHistory {
  return pairEvents(READERS[format ?? formatOf(text)](text, keyed));
}

function formatOf(text: string): FormatName {
  if (/^\s*(\{\s*"|$)/.test(text)) return 'json-lines';
  if (/^[\s,]*[[({#;]/.test(text)) return 'edn';
  if (/^(INFO|WARN|ERROR|DEBUG)\s/.test(text)) return 'jepsen-log';
  throw new HistoryFormatError(
    1,
    `neither JSON lines, nor EDN, nor a log of Jepsen; give one of ${FORMATS.join(', ')}`,
  );
}
