/** Reads a file of operations in any of the formats; which one it is shows in its first characters. */

import { HistoryFormatError } from '../json-line.ts';
import { decodeHistory, FORMAT } from '../json-lines.ts';
import { readEdn } from './edn.ts';
import { readJepsenLog } from './jepsen-log.ts';
import { readJsonLines } from './json-lines.ts';
import { listOperations, registerOperations } from './of-history.ts';
import { entryOperations, lockOperations, readWriteOperations, semaphoreOperations } from './of-locks.ts';
import { pairEvents, type Operation } from './operation.ts';

const READERS = {
  'json-lines': (text, { keyed = false }) => pairEvents(readJsonLines(text, keyed)),
  edn: (text, { keyed = false }) => pairEvents(readEdn(text, keyed)),
  'jepsen-log': (text, { keyed = false }) => pairEvents(readJepsenLog(text, keyed)),
  [FORMAT]: (text, { model }) => ofRun(text, model),
} as const satisfies Readonly<Record<string, (text: string, options: ReadOptions) => readonly Operation[]>>;

export type FormatName = keyof typeof READERS;
export const FORMATS = Object.keys(READERS) as readonly FormatName[];

/** Of a recorded run, what each model can judge. */
const OF_RUN: Readonly<Record<string, typeof lockOperations>> = {
  mutex: lockOperations,
  'fenced-mutex': lockOperations,
  'reentrant-mutex': entryOperations,
  'rw-mutex': readWriteOperations,
  semaphore: semaphoreOperations,
  register: registerOperations,
  'cas-register': registerOperations,
  'list-append': listOperations,
};

export interface ReadOptions {
  /** @default what the first characters show */
  readonly format?: FormatName;
  /** Values are pairs of a key and the value, as `jepsen.independent` has them. */
  readonly keyed?: boolean;
  /** Of a recorded run, which has locks, registers and lists: by whose name what is wanted is known. */
  readonly model?: string;
}

/** @throws HistoryFormatError */
export function readOperations(text: string, options: ReadOptions = {}): readonly Operation[] {
  return READERS[options.format ?? formatOf(text)](text, options);
}

function formatOf(text: string): FormatName {
  if (text.startsWith(`{"format":"${FORMAT}"`)) return FORMAT;
  if (/^\s*(\{\s*"|$)/.test(text)) return 'json-lines';
  if (/^[\s,]*[[({#;]/.test(text)) return 'edn';
  if (/^(INFO|WARN|ERROR|DEBUG)\s/.test(text)) return 'jepsen-log';
  throw new HistoryFormatError(
    1,
    `neither JSON lines, nor EDN, nor a log of Jepsen; give one of ${FORMATS.join(', ')}`,
  );
}

function ofRun(text: string, model = 'history'): readonly Operation[] {
  const operations = OF_RUN[model];
  if (operations !== undefined) return operations(decodeHistory(text));
  const models = Object.keys(OF_RUN).join(', ');
  throw new HistoryFormatError(
    1,
    `a recorded run has locks, registers and lists, not a ${model}; give one of ${models}`,
  );
}
